"""Sandboxes: the time of an allocation at 1,000 and 10,000 agents.

bench_sandbox_registry (bench/sandbox/registry.cc) allocates and releases slots.
bench/peers/sandbox restates the allocation of fast-sandbox's registry in Go, a scan of all agents.
"""

import json
import os
import subprocess

from bench.harness import BenchError, Metric, say

TARGETS = ["bench_sandbox_registry"]
SOURCES = ["reconcile/sandbox"]
CAPTION = ("Agents with 10 slots each, half of them taken, 50 images of which a node has 5, a third of the sandboxes with one of 20 ports.\n"
           "Peer: fast-sandbox's allocation restated in Go, a scan of all agents, GOMAXPROCS=1. All times are CPU time.\n"
           "The goals: 10 µs and 30 µs.")
GOALS = {"allocate_p99_us": 10, "allocate_p99_10000_us": 30}
PATIENCE = 300


def run(context):
    times = 20_000 if context.quick else 200_000
    small, large = (_run(context, [context.program("bench_sandbox_registry"), agents, times]) for agents in (1_000, 10_000))
    peers = _peers(context)
    metrics = [Metric("allocate_p99_us", small["allocate_p99_us"], "µs", peers and peers[0]["allocate_p99_us"]),
               Metric("allocate_p99_10000_us", large["allocate_p99_us"], "µs", peers and peers[1]["allocate_p99_us"])]
    for metric in metrics:
        if metric.value > GOALS[metric.metric]:
            say(f"WARNING: sandbox: {metric.metric} is {metric.value:.3g}, and the goal {GOALS[metric.metric]}")
    return metrics


def _peers(context):
    """The peer's figures at 1,000 and at 10,000 agents."""
    if not (peer := context.peer("sandbox")):
        return None
    times = 2_000 if context.quick else 20_000
    return [_run(context, [peer, "--agents", agents, "--allocations", times]) for agents in (1_000, 10_000)]


def _run(context, command):
    done = subprocess.run(["taskset", "-c", str(context.server_cpu), *map(str, command)], capture_output=True, text=True,
                          env={**os.environ, "GOMAXPROCS": "1"}, timeout=PATIENCE)
    if done.returncode:
        raise BenchError(f"{command[0]}: status {done.returncode}: {done.stderr[-2000:]}")
    figures = json.loads(done.stdout)
    say(f"sandbox: {command[0].name}: {figures}")
    return figures
