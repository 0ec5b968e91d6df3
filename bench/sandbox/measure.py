"""Sandboxes: the time of an allocation at 1,000 and 10,000 agents, and of a create's review.

bench_sandbox_registry (bench/sandbox/registry.cc) allocates and releases slots. bench_sandbox_review sends creates through the mutating webhook, in process.
bench/peers/sandbox restates the allocation of fast-sandbox's registry in Go, a scan of all agents.
"""

import json
import os
import subprocess

from bench.harness import BenchError, Metric, say

TARGETS = ["bench_sandbox_registry", "bench_sandbox_review"]
SOURCES = ["handlers/admission", "reconcile/sandbox"]
CAPTION = ("Agents with 10 slots each, half of them taken, 50 images of which a node has 5, a third of the sandboxes with one of 20 ports.\n"
           "The review: a create through the mutating webhook, from bytes to bytes, with a reservation among 1,000 agents, without HTTP.\n"
           "Peer: fast-sandbox's allocation restated in Go, a scan of all agents, GOMAXPROCS=1. All times are CPU time.\n"
           "The goals: 10 µs, 30 µs, 5 ms.")
GOALS = {"allocate_p99_us": 10, "allocate_p99_10000_us": 30, "webhook_p99_ms": 5}
PATIENCE = 300


def run(context):
    times = 20_000 if context.quick else 200_000
    small, large = (_run(context, [context.program("bench_sandbox_registry"), agents, times]) for agents in (1_000, 10_000))
    review = _run(context, [context.program("bench_sandbox_review"), 1_000, 2_000 if context.quick else 10_000])
    peers = _peers(context)
    metrics = [Metric("allocate_p99_us", small["allocate_p99_us"], "µs", peers and peers[0]["allocate_p99_us"]),
               Metric("allocate_p99_10000_us", large["allocate_p99_us"], "µs", peers and peers[1]["allocate_p99_us"]),
               Metric("webhook_p99_ms", review["webhook_p99_ms"], "ms")]
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
