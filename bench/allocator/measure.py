"""The allocator of a pool: allocations a second, what an operation costs as the pool fills, what a status costs, and what a change of a pool costs.

bench_allocator (bench/allocator/*.cc) prints Google Benchmark's JSON; times are of the CPU. Of several rounds the best counts:
noise only ever adds.
"""

import json
import subprocess

from bench.harness import BenchError, Metric, say

TARGETS = ["bench_allocator"]
SOURCES = ["reconcile/ipam"]
CAPTION = ("One pool of 2^27 IPv4 addresses, blocks from /24 to /30 as likely, one core, CPU time. allocations: a million into an empty\n"
           "pool. churn: random blocks come and go at so many live ones; flat is the cost at 1,000,000 over that at 1,000 (at most 3).\n"
           "status: all free counts; its peer is a full recount over the live blocks, as plexaubnet did for every event.\n"
           "pool_change: one pool's range grows and shrinks among 4,000 pools of a namespace (at most 1,000 us), and among 1,000.")


def run(context):
    rounds = 1 if context.quick else 3
    best = {}
    for number in range(rounds):
        for name, nanoseconds in _measure(context).items():
            best[name] = min(nanoseconds, best.get(name, nanoseconds))
        say(f"allocator: round {number + 1}/{rounds}: {1e9 / best['Fill/linear']:,.0f} allocations/s")
    metrics = [Metric("allocations_per_second", 1e9 / best["Fill/linear"], "1/s"),
               Metric("allocations_per_second_buddy", 1e9 / best["Fill/buddy"], "1/s")]
    for strategy in ("linear", "buddy"):
        for live in (1_000, 10_000, 100_000, 1_000_000):
            metrics.append(Metric(f"churn_{strategy}_{live}", best[f"Churn/{strategy}/{live}"], "ns"))
        metrics.append(Metric(f"churn_{strategy}_flat", best[f"Churn/{strategy}/1000000"] / best[f"Churn/{strategy}/1000"], "times"))
    metrics.append(Metric("status_1000", best["Status/1000"], "ns", best["Recount/1000"]))
    metrics.append(Metric("status_100000", best["Status/100000"], "ns", best["Recount/100000"]))
    metrics.append(Metric("status_1000000", best["Status/1000000"], "ns"))
    metrics.append(Metric("pool_change_us", best["PoolChange/4000"] / 1000, "us"))
    metrics.append(Metric("pool_change_us_1000", best["PoolChange/1000"] / 1000, "us"))
    return metrics


def _measure(context):
    command = ["taskset", "-c", str(context.server_cpu), str(context.program("bench_allocator")), "--benchmark_format=json"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=600)
    if done.returncode:
        raise BenchError(f"bench_allocator: status {done.returncode}: {done.stderr[-2000:]}")
    costs = {}
    for row in json.loads(done.stdout)["benchmarks"]:
        if row.get("error_occurred"):
            raise BenchError(f"bench_allocator: {row['name']}: {row['error_message']}")
        # Google Benchmark puts its settings behind the name: Churn/linear/1000/iterations:300000/process_time.
        name = "/".join(part for part in row["name"].split("/") if ":" not in part and part != "process_time")
        costs[name] = row["cpu_time"]
    return costs
