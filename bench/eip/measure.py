"""Elastic IPs by the thousand: how close to the cloud's limit they are allocated, what a resync costs, and what they weigh.

Calls and rates come from bench_eip (bench/eip/eip.cc), which runs the operator against a simulated cloud in virtual time: they are exact.
RSS comes from a berth serve that has allocated them in real time, between berth demo (the API server) and berth simulate-cloud.
"""

import concurrent.futures
import json
import ssl
import subprocess
import time
import urllib.request

from bench.harness import BenchError, Metric, Program, say
from bench.restart.measure import CONNECTIONS, LEASES, PATIENCE, REST, Cluster, peak

TARGETS = ["bench_eip", "berth"]
SOURCES = ["async", "cloud", "http", "kube", "reconcile", "server"]
CAPTION = ("5,000 EIPs (--quick: 500) made at once; the cloud takes 600 calls of each action in a minute and shows a new address after 3 s. The\n"
           "goals: 95 % of the limit, 50 EIPs a call in a resync, no address twice, 60 MiB. Virtual time but for rss: a berth serve that has\n"
           "allocated them from berth simulate-cloud (6,000 calls a minute, to be done soon), with berth demo as the API server. No peer.")
COLLECTION = "/apis/eip.alibabacloud.com/v1alpha1/eips"
REGION = "cn-hangzhou"
LIMIT = 6_000
METRICS = [("eips_per_minute", "allocations_per_minute", "1/min"),
           ("of_the_limit", "of_the_limit", "times"),
           ("all_ready", "ready_minutes", "min"),
           ("allocate_calls", "create_AllocateEipAddress", ""),
           ("describe_calls", "create_DescribeEipAddresses", ""),
           ("throttled_calls", "throttled", ""),
           ("duplicates", "duplicates", ""),
           ("writes_per_eip", "writes_per_eip", ""),
           ("events_per_eip", "events_per_eip", ""),
           ("resync_describe_calls", "resync_describe_calls", ""),
           ("resync_eips_per_call", "resync_eips_per_call", ""),
           ("resync_writes", "resync_writes", ""),
           ("releases_per_minute", "releases_per_minute", "1/min"),
           ("cache_bytes_per_eip", "cache_bytes_per_eip", "bytes")]


def run(context):
    count = 500 if context.quick else 5_000
    figures = _simulate(context, count)
    if figures["duplicates"]:
        raise BenchError(f"{figures['duplicates']:.0f} addresses were allocated twice")
    metrics = [Metric("eips", count, "")] + [Metric(name, figures[figure], unit) for name, figure, unit in METRICS]
    empty, full, most = _weigh(context, count)
    return metrics + [Metric("rss", full / 2**20, "MiB"), Metric("rss_peak", most / 2**20, "MiB"), Metric("rss_empty", empty / 2**20, "MiB"),
                      Metric("bytes_per_eip", (full - empty) / count, "bytes")]


def _simulate(context, count):
    done = subprocess.run(["taskset", "-c", str(context.server_cpu), str(context.program("bench_eip")), str(count)],
                          capture_output=True, text=True, timeout=PATIENCE)
    if done.returncode:
        raise BenchError(f"bench_eip: status {done.returncode}: {done.stderr[-2000:]}")
    figures = json.loads(done.stdout)
    say(f"eip: {count:,} in virtual time: {figures['of_the_limit']:.1%} of the limit; {figures['cpu_seconds']:.1f} s of CPU")
    return figures


def _weigh(context, count):
    """RSS of berth serve: without EIPs, with all of them, and at most."""
    cloud_dir, state = context.work / "cloud", context.work / "cluster"
    cloud_command = [context.berth(), "simulate-cloud", "--port", 0, "--state-dir", cloud_dir, "--region", REGION, "--log-format", "json"]
    # The demo has a cloud of its own, for whoever tries it out.
    demo_command = [context.berth(), "demo", "--port", 0, "--state-dir", state, "--no-cloud"]
    with Program(cloud_command, context.server_cpu, context.work) as cloud, \
            Program(demo_command, context.server_cpu, context.work) as demo:
        port = cloud.log_line({"msg": "listening", "listener": "cloud"})["port"]
        cluster = Cluster(demo, state)
        with Program(_serve(context, state, cloud_dir, port), context.load_cpu, context.work,
                     {"POD_NAMESPACE": LEASES, "POD_NAME": "eip"}) as berth:
            berth.log_line({"msg": "system at work", "system": "eip"}, PATIENCE)
            time.sleep(REST)
            empty = berth.rss()
            _fill(cluster, berth, count)
            time.sleep(REST)
            _check_ledger(cloud_dir, port, count)
            return empty, berth.rss(), peak(berth)


def _serve(context, state, cloud_dir, port):
    command = [context.berth(), "serve", "--kubeconfig", state / "kubeconfig", "--state-dir", context.work / "eip", "--bind-address", "127.0.0.1"]
    for listener in ("webhook", "api", "metrics", "health"):
        command += [f"--{listener}-port", 0]
    return command + ["--aliyun-region", REGION, "--aliyun-credentials-dir", cloud_dir / "credentials",
                      "--aliyun-vpc-endpoint", f"https://127.0.0.1:{port}", "--aliyun-sts-endpoint", f"https://127.0.0.1:{port}", "--aliyun-ca-file", cloud_dir / "certs" / "ca.crt",
                      "--aliyun-calls-per-minute", LIMIT, "--aliyun-limit", f"AllocateEipAddress={LIMIT}"]


def _fill(cluster, berth, count):
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        for done in [pool.submit(_create, cluster, range(first, count, CONNECTIONS)) for first in range(CONNECTIONS)]:
            done.result()
    connection = cluster.connect()
    while (ready := _ready(cluster, connection)) < count:
        if time.monotonic() - began > PATIENCE:
            raise BenchError(f"{ready} EIPs of {count} are ready")
        if berth.process.poll() is not None:
            berth.fail("ended")
        time.sleep(2)
    say(f"eip: {count:,} made and ready in {time.monotonic() - began:.0f} s")


def _create(cluster, numbers):
    connection = cluster.connect()
    for number in numbers:
        cluster.call(connection, "POST", COLLECTION, {
            "apiVersion": "eip.alibabacloud.com/v1alpha1", "kind": "EIP", "metadata": {"name": f"eip-{number}"},
            "spec": {"bandwidth": "20", "tags": {"n": str(number)}}})


def _ready(cluster, connection):
    items = cluster.call(connection, "GET", COLLECTION)["items"]
    return sum(condition["type"] == "Ready" and condition["status"] == "True"
               for item in items for condition in item.get("status", {}).get("conditions", []))


def _check_ledger(cloud_dir, port, count):
    tls = ssl.create_default_context(cafile=cloud_dir / "certs" / "ca.crt")
    with urllib.request.urlopen(f"https://127.0.0.1:{port}/ledger", timeout=30, context=tls) as answer:
        ledger = json.load(answer)
    if ledger["allocated"] != count or ledger["eips"] != count:
        raise BenchError(f"{ledger['allocated']} addresses were allocated for {count} EIPs, {ledger['eips']} are there")
