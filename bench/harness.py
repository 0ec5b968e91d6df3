"""Helpers of the benchmarks: certificates, processes on their own core, and their figures in /proc."""

import contextlib
import dataclasses
import importlib
import json
import os
import pathlib
import queue
import re
import resource
import socket
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent
START_TIMEOUT = 30
# The environment variables of the image: Berth is measured as it is deployed.
IMAGE = dict(re.findall(r"^ENV (\w+)=(\S+)$", (ROOT / "Dockerfile").read_text(), re.M))
TICKS = os.sysconf("SC_CLK_TCK")


class BenchError(Exception):
    """A benchmark that must not report numbers: something failed or answered wrongly."""


def benchmarks():
    """The module measure of each benchmark, by name."""
    names = sorted(path.parent.name for path in (ROOT / "bench").glob("*/measure.py"))
    return {name: importlib.import_module(f"bench.{name}.measure") for name in names}


def say(text):
    print(text, file=sys.stderr, flush=True)


@dataclasses.dataclass
class Metric:
    """A row of the table. The ratio is Berth over peer; peer is None when there is none to compare with."""

    metric: str
    value: float
    unit: str
    peer: float | None = None

    def to_json(self):
        ratio = self.value / self.peer if self.peer else None
        return {"metric": self.metric, "value": _short(self.value), "unit": self.unit,
                "peer": _short(self.peer), "ratio": _short(ratio)}


def _short(number):
    return None if number is None else float(f"{number:.5g}")


@dataclasses.dataclass
class Context:
    """Where a benchmark finds things, and how long it may take."""

    quick: bool
    work: pathlib.Path   # Empty, its own, gone afterwards.
    build: pathlib.Path  # The build tree of the release preset.
    peers: pathlib.Path | None

    def __post_init__(self):
        cpus = sorted(os.sched_getaffinity(0))
        self.server_cpu, self.load_cpu = cpus[0], cpus[-1]
        if len(cpus) < 2:
            say("WARNING: one core only: server and load share it, trust the ratios alone")
        self.certs = Certificates(self.work / "certs")

    def program(self, name):
        """A program of bench/, built by scripts/bench."""
        return _existing(self.build / "bench" / name)

    def berth(self):
        return _existing(pathlib.Path(os.environ.get("BERTH_BIN") or self.build / "server" / "berth"))

    def peer(self, name):
        """The Go program to compare with, or None where it could not be built."""
        path = self.peers / name if self.peers else None
        return path if path and path.exists() else None


def _existing(path):
    if not path.exists():
        raise BenchError(f"{path} is missing: run scripts/bench, which builds it")
    return path


class Certificates:
    """ECDSA P-256: a serving pair (tls.crt, tls.key) under ca.crt, and a front proxy's client pair under proxy-ca.crt."""

    def __init__(self, folder):
        folder.mkdir()
        self.folder = folder
        self.ca, self.cert, self.key = folder / "ca.crt", folder / "tls.crt", folder / "tls.key"
        self.proxy_ca, self.client_cert, self.client_key = (
            folder / "proxy-ca.crt", folder / "client.crt", folder / "client.key")
        self._authority("ca", "bench-serving-ca")
        self._authority("proxy-ca", "bench-request-header-ca")
        self._leaf("tls", "ca", "localhost",
                   ["subjectAltName=DNS:localhost,IP:127.0.0.1", "extendedKeyUsage=serverAuth"])
        self._leaf("client", "proxy-ca", "front-proxy-client", ["extendedKeyUsage=clientAuth"])

    def _authority(self, name, common_name):
        self._openssl(name, common_name, ["basicConstraints=critical,CA:TRUE", "keyUsage=critical,keyCertSign"])

    def _leaf(self, name, authority, common_name, extensions):
        self._openssl(name, common_name,
                      ["basicConstraints=critical,CA:FALSE", "keyUsage=critical,digitalSignature", *extensions],
                      "-CA", f"{authority}.crt", "-CAkey", f"{authority}.key")

    def _openssl(self, name, common_name, extensions, *signer):
        command = ["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-noenc",
                   "-config", os.devnull, "-days", "2", "-subj", f"/CN={common_name}",
                   "-keyout", f"{name}.key", "-out", f"{name}.crt", *signer]
        for extension in extensions:
            command += ["-addext", extension]
        done = subprocess.run(command, cwd=self.folder, capture_output=True, text=True)
        if done.returncode:
            raise BenchError(f"openssl: {done.stderr.strip()}")


class Program:
    """A process on one core. Its stdout is read as lines; its stderr goes to a file. Ends with the `with` block."""

    def __init__(self, command, cpu, work, env=None):
        self.name = pathlib.Path(command[0]).name
        self.log = work / f"{self.name}-{time.monotonic_ns()}.log"
        with open(self.log, "wb") as log:
            self.process = subprocess.Popen(
                ["taskset", "-c", str(cpu), *map(str, command)], stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                stderr=log, text=True, bufsize=1, env={**os.environ, **(env or {})})
        self.pid = self.process.pid
        self._lines = queue.Queue()
        self._reader = threading.Thread(target=self._read, daemon=True)
        self._reader.start()

    def _read(self):
        for line in self.process.stdout:
            self._lines.put(line)
        self._lines.put(None)

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.process.terminate()
        try:
            self.process.wait(10)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()
        self._reader.join()
        self.process.stdout.close()
        with contextlib.suppress(OSError):  # What was still to be said to it, it will not hear.
            self.process.stdin.close()

    def fail(self, what):
        tail = self.log.read_text(errors="replace")[-2000:]
        raise BenchError(f"{self.name}: {what}\n{tail}")

    def send(self, line):
        try:
            self.process.stdin.write(line + "\n")
        except OSError as error:
            self.fail(f"cannot be told {line!r}: {error}")

    def receive(self, timeout=START_TIMEOUT):
        """The next line of stdout, as JSON."""
        try:
            line = self._lines.get(timeout=timeout)
        except queue.Empty:
            self.fail(f"said nothing for {timeout} s")
        if line is None:
            self.fail(f"ended with status {self.process.wait()}")
        if not (entry := _object(line)):
            self.fail(f"did not say JSON: {line.strip()}")
        return entry

    def log_line(self, wanted, timeout=START_TIMEOUT):
        """The first JSON line of stderr that has all the pairs of `wanted`."""
        deadline = time.monotonic() + timeout
        while time.monotonic() < deadline:
            for line in self.log.read_text(errors="replace").splitlines():
                entry = _object(line)
                if wanted.items() <= entry.items():
                    return entry
            if self.process.poll() is not None:
                self.fail(f"ended with status {self.process.returncode}")
            time.sleep(0.05)
        self.fail(f"logged no {wanted} within {timeout} s")

    def rss(self):
        """Bytes."""
        for line in pathlib.Path(f"/proc/{self.pid}/status").read_text().splitlines():
            if line.startswith("VmRSS:"):
                return int(line.split()[1]) * 1024
        self.fail("has no VmRSS")

    def cpu_seconds(self):
        fields = pathlib.Path(f"/proc/{self.pid}/stat").read_text().rpartition(")")[2].split()
        return (int(fields[11]) + int(fields[12])) / TICKS


def _object(line):
    try:
        entry = json.loads(line)
    except ValueError:
        return {}
    return entry if isinstance(entry, dict) else {}


def check_undisturbed(what, server_busy, load_busy):
    """Says so when the cores were not theirs: with a closed loop, one of the two sides should be busy all the time."""
    if max(server_busy, load_busy) < 0.85:
        say(f"WARNING: {what}: neither the server nor the load had its core to itself; rates are too low, trust CPU times")
    elif load_busy > server_busy and load_busy > 0.95:
        say(f"WARNING: {what}: the load generator was the limit; the server could do more, trust CPU times")


def free_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def allow_files(count):
    """Lets the programs started from here have `count` open files."""
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    if soft == resource.RLIM_INFINITY or soft >= count:
        return
    if hard != resource.RLIM_INFINITY:
        hard = max(hard, count)
    try:
        resource.setrlimit(resource.RLIMIT_NOFILE, (count, hard))
    except (ValueError, OSError) as error:
        raise BenchError(f"{count} open files are needed: {error}") from error
