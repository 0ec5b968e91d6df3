"""Where and when a benchmark was run: the commit, the machine, and how much else the machine had to do."""

import datetime
import os
import pathlib
import platform
import re
import subprocess
import time

from bench.harness import ROOT, TICKS

# With more than this of a core taken by others, the figures are not a quiet machine's.
QUIET_CORES = 0.1
# Written from the JSON of this very run.
REPORTS = ["docs/performance.json", "docs/performance.md"]


def now():
    return datetime.datetime.now(datetime.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def commit():
    """The commit's hash, with a + when files differ from it; none outside of a clone."""
    def git(*arguments):
        done = subprocess.run(["git", "-C", ROOT, *arguments], capture_output=True, text=True)
        return done.stdout.strip() if done.returncode == 0 else None

    head = git("rev-parse", "HEAD")
    if not head:
        return None
    changed = git("status", "--porcelain", "--untracked-files=no", "--", ".", *(f":!{report}" for report in REPORTS))
    return head + ("+" if changed else "")


def machine():
    model = re.search(r"^model name\s*: (.*)$", pathlib.Path("/proc/cpuinfo").read_text(), re.M)
    memory = re.search(r"^MemTotal:\s+(\d+) kB$", pathlib.Path("/proc/meminfo").read_text(), re.M)
    return {"cpu": model[1] if model else platform.machine(), "cores": len(os.sched_getaffinity(0)),
            "memory_gib": round(int(memory[1]) / 2**20, 1), "kernel": platform.release()}


class OtherWork:
    """CPU time that went elsewhere than to this process and the children it has waited for."""

    def __init__(self):
        self._began = time.monotonic()
        self._busy, self._stolen, self._own = self._read()

    def measured(self):
        seconds = time.monotonic() - self._began
        busy, stolen, own = self._read()
        other = max(0, busy - self._busy - (own - self._own)) / seconds
        stolen = (stolen - self._stolen) / seconds
        return {"seconds": round(seconds, 1), "quiet": max(other, stolen) < QUIET_CORES, "other_cores": round(other, 3),
                "stolen_cores": round(stolen, 3)}

    @staticmethod
    def _read():
        fields = pathlib.Path("/proc/stat").read_text().splitlines()[0].split()[1:]
        user, nice, system, _, _, irq, softirq, steal = (int(field) / TICKS for field in fields[:8])
        times = os.times()
        return user + nice + system + irq + softirq, steal, times.user + times.system + times.children_user + times.children_system
