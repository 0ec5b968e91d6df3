"""The work queue: keys a second through add, get and done, and what a waiting key costs in memory.

Both programs, bench_queue (bench/queue/queue.cc) and bench/peers/queue, run the same loops over the same keys and print
{"benchmarks": [{"name", "items_per_second" | "bytes_per_key"}]}; the rounds are interleaved, so that noise hits both alike.
"""

import json
import os
import statistics
import subprocess

from bench.harness import BenchError, Metric, say

TARGETS = ["bench_queue"]
SOURCES = ["reconcile/runtime"]
CAPTION = ("10,000 keys such as namespace-17/name-4217, one core, seconds of CPU time. One op: a key is added, got and done. ops: all keys\n"
           "are added, then worked off; single: each is worked off as soon as it is added; rate_limited: each is added, got, added\n"
           "rate limited, done, and when its time has come got, forgotten and done. Peer: client-go's workqueue, GOMAXPROCS=1.")

# Metric, its unit, and where the programs' answers have it.
METRICS = [("ops_per_second", "ops/s", "Burst", "items_per_second"),
           ("single_ops_per_second", "ops/s", "Single", "items_per_second"),
           ("rate_limited_ops_per_second", "ops/s", "RateLimited", "items_per_second"),
           ("bytes_per_waiting_key", "bytes", "Memory", "bytes_per_key")]


def run(context):
    rounds, seconds = (3, 0.5) if context.quick else (7, 1)
    commands = {"berth": [context.program("bench_queue"), "--benchmark_format=json", f"--benchmark_min_time={seconds}s"]}
    if context.peer("queue"):
        commands["peer"] = [context.peer("queue"), f"--seconds={seconds}"]
    measured = {name: [] for name in commands}
    for number in range(rounds):
        for name, command in commands.items():
            measured[name].append(_measure(context, command))
            say(f"queue: round {number + 1}/{rounds}: {name}: {measured[name][-1]['ops_per_second']:,.0f} ops/s")
    return _metrics(measured)


def _metrics(measured):
    def median(name, key):
        samples = measured.get(name)
        return statistics.median(sample[key] for sample in samples) if samples else None

    return [Metric(key, median("berth", key), unit, median("peer", key)) for key, unit, *_ in METRICS]


def _measure(context, command):
    done = subprocess.run(["taskset", "-c", str(context.server_cpu), *map(str, command)], capture_output=True, text=True,
                          env={**os.environ, "GOMAXPROCS": "1"}, timeout=120)
    if done.returncode:
        raise BenchError(f"{command[0]}: status {done.returncode}: {done.stderr[-2000:]}")
    # Google Benchmark puts what was asked of it behind the name: Burst/process_time.
    results = {row["name"].split("/")[0]: row for row in json.loads(done.stdout)["benchmarks"]}
    for row in results.values():
        if row.get("error_occurred"):
            raise BenchError(f"{command[0]}: {row['name']}: {row['error_message']}")
    return {key: results[name][field] for key, _, name, field in METRICS}
