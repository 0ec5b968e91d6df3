"""ENI tasks that wait for their attach: how often the cloud is asked for them, and what they weigh.

bench_eni (bench/eni/eni.cc) runs the task runner with its real client and the live resource enitasks in virtual time: its counts are exact, and
its memory and CPU time are those of the tasks. bench/peers/eni is Terway's queue restated in Go, a goroutine and a stream of Describe calls for
each task; it runs in real time, with all pauses shortened alike. bench_eni_completion (bench/eni/completion.cc) has the whole system on an API
server in memory, in virtual time, and tells how long the end of an attach takes to be in the status of its Node.
"""

import json
import os
import subprocess

from bench.harness import BenchError, Metric, say

TARGETS = ["bench_eni", "bench_eni_completion"]
SOURCES = ["async", "cloud", "handlers/apis", "reconcile/eni"]
TASKS = 25_000
NODES = 2_000  # of 5 ENIs each, whose attaches end 500 a second
CAPTION = (f"{TASKS:,} attaches that the cloud is at for 90 s, of 5 ENIs a node; it answers in 20 ms and takes 800 Describe calls a minute. The goals:\n"
           "100 MiB, 1 Describe call for each 100 ENIs that wait in any tick of 250 ms, one thread, 20 % of a core. Virtual time. Peer: Terway's queue\n"
           "restated in Go, without its rate limits, GOMAXPROCS=1; mib_per_1000 is without the live resource. completion_to_status: 500 attaches a second end on\n"
           f"{NODES:,} nodes; the API server takes 10 ms for a write; the goal is 1 s.")
GOALS = {"tasks_rss_mib": 100, "describe_per_100": 1, "threads": 1, "waiting_cpu_percent": 20, "completion_to_status_p99_s": 1}
WINDOW = 90  # seconds, as in eni.cc
PATIENCE = 120


def run(context):
    figures = _run(context, [context.program("bench_eni"), TASKS])
    completion = _run(context, [context.program("bench_eni_completion"), NODES])
    calls, weight = _peer(context)
    metrics = [Metric("tasks", TASKS, ""),
               Metric("tasks_rss_mib", figures["tasks_rss"] / 2**20, "MiB"),
               Metric("describe_per_100", figures["describe_per_100"], ""),
               Metric("threads", figures["threads"], ""),
               Metric("waiting_cpu_percent", figures["waiting_cpu"] * 100, "%"),
               Metric("completion_to_status_p50_s", completion["completion_to_status_p50_s"], "s"),
               Metric("completion_to_status_p99_s", completion["completion_to_status_p99_s"], "s"),
               Metric("describes_per_1000", figures["describes_of_1000"], "", calls),
               Metric("mib_per_1000", figures["bytes_per_task"] * 1000 / 2**20, "MiB", weight and weight * 1000 / 2**20)]
    for metric in metrics:
        if metric.metric in GOALS and metric.value > GOALS[metric.metric]:
            say(f"WARNING: eni: {metric.metric} is {metric.value:.3g}, and the goal {GOALS[metric.metric]}")
    return metrics


def _peer(context):
    """Terway's Describe calls of 1,000 tasks, and bytes of a task among all."""
    if not (peer := context.peer("eni")):
        return None, None
    few, many = (0.08, 0.2) if context.quick else (0.3, 0.4)
    calls = _run(context, [peer, "--tasks", 1000, "--window", WINDOW, "--scale", few])
    weight = _run(context, [peer, "--tasks", TASKS, "--window", WINDOW / 3, "--scale", many])
    return calls["describes"], weight["bytes_per_task"]


def _run(context, command):
    done = subprocess.run(["taskset", "-c", str(context.server_cpu), *map(str, command)], capture_output=True, text=True,
                          env={**os.environ, "GOMAXPROCS": "1"}, timeout=PATIENCE)
    if done.returncode:
        raise BenchError(f"{command[0]}: status {done.returncode}: {done.stderr[-2000:]}")
    figures = json.loads(done.stdout)
    say(f"eni: {command[0].name}: {figures}")
    return figures
