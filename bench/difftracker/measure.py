"""The DiffTracker engine at the size of a large cluster: the time of an event, memory, and the time to start.

bench_difftracker (bench/difftracker/difftracker.cc) feeds the engine 2,000 events a second of virtual time and answers its requests.
bench_difftracker_throughput creates load balancers by the system and its real client on a simulated Azure with the published limits, in virtual time.
bench/peers/difftracker restates the diff of cloud-provider-azure's DiffTracker in Go, which walks all pods after each event.
"""

import json
import os
import subprocess

from bench.harness import BenchError, Metric, say

TARGETS = ["bench_difftracker", "bench_difftracker_throughput"]
SOURCES = ["cloud/azure", "reconcile/difftracker"]
CAPTION = ("5,000 nodes, 150,000 addresses, 2,000 load balancers with a slice of 50 endpoints each, 500 egresses of 100 pods; 2,000 events a second,\n"
           "each an endpoint that is replaced, a pod that comes or one that goes. The goals: 100 µs, 200 MiB, 10 s, and the same cost of an event\n"
           "at a tenth of the addresses. The engine alone: neither informers nor the wire. Peer: the diff of cloud-provider-azure's DiffTracker\n"
           "restated in Go, which walks all pods after each event, GOMAXPROCS=1. All times are CPU time.")
GOALS = {"event_p99_us": 100, "rss_mib": 200, "restart_to_first_decision_s": 10, "scale_ratio": 2}
PATIENCE = 120


def run(context):
    figures = _run(context, [context.program("bench_difftracker"), 40_000 if context.quick else 200_000])
    services = 600 if context.quick else 2_000
    throughput = _run(context, [context.program("bench_difftracker_throughput"), services])
    if throughput["throttled"]:
        raise BenchError(f"the cloud throttled {throughput['throttled']} calls")
    peer, small = _peer(context)
    metrics = [Metric("event_p99_us", figures["event_p99_us"], "µs", peer and peer["event_p99_us"]),
               Metric("event_mean_us", figures["event_mean_us"], "µs", peer and peer["event_mean_us"]),
               Metric("event_mean_15000_us", figures["event_mean_small_us"], "µs", small and small["event_mean_us"]),
               Metric("scale_ratio", figures["event_mean_us"] / figures["event_mean_small_us"], "",
                      peer and peer["event_mean_us"] / small["event_mean_us"]),
               Metric("request_p99_ms", figures["request_p99_ms"], "ms"),
               Metric("rss_mib", figures["rss_mib"], "MiB"),
               Metric("restart_to_first_decision_s", figures["restart_to_first_decision_s"], "s"),
               Metric("throughput_services", throughput["services"], ""),
               Metric("throughput_minutes", throughput["minutes"], "min"),
               Metric("throughput_limit_used_percent", throughput["limit_used"] * 100, "%")]
    if throughput["limit_used"] < 0.95:
        say(f"WARNING: difftracker: {throughput['limit_used']:.0%} of Azure's limit is used, and the goal is 95 %")
    for metric in metrics:
        if metric.metric in GOALS and metric.value > GOALS[metric.metric]:
            say(f"WARNING: difftracker: {metric.metric} is {metric.value:.3g}, and the goal {GOALS[metric.metric]}")
    return metrics


def _peer(context):
    """The peer's figures at 150,000 and at 15,000 addresses."""
    if not (peer := context.peer("difftracker")):
        return None, None
    events = 30 if context.quick else 200
    return (_run(context, [peer, "--services", 2000, "--events", events]),
            _run(context, [peer, "--services", 200, "--events", events]))


def _run(context, command):
    done = subprocess.run(["taskset", "-c", str(context.server_cpu), *map(str, command)], capture_output=True, text=True,
                          env={**os.environ, "GOMAXPROCS": "1"}, timeout=PATIENCE)
    if done.returncode:
        raise BenchError(f"{command[0]}: status {done.returncode}: {done.stderr[-2000:]}")
    figures = json.loads(done.stdout)
    say(f"difftracker: {command[0].name}: {figures}")
    return figures
