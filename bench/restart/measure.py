"""How soon Berth is at work after a restart, and what it then weighs: a demo is the API server, filled with Subnets."""

import concurrent.futures
import contextlib
import datetime
import http.client
import json
import pathlib
import re
import ssl
import time

from bench.harness import BenchError, Metric, Program, say

TARGETS = ["berth"]
SOURCES = ["async", "http", "kube", "reconcile", "server"]
CAPTION = ("100,000 Subnets (--quick: 10,000), written by hand, of one SubnetPool 10.0.0.0/8; berth demo as the API server on one core, "
           "berth serve on the other. From exec to /readyz ok, and to leading with all of it known (the log's \"system at work\"); "
           "RSS 10 s later. The goal is 5 s and 150 MiB. There is no peer. bytes_per_claim: 5,000 bound claims, each with its Subnet")
GROUP = "/apis/plexaubnet.io/v1alpha1/namespaces/default"
LEASES = "restart"  # A lease of its own: the demo leads by another.
BLOCK = 26
CLAIMS = 5_000
CONNECTIONS = 8
REST = 10
PATIENCE = 600


def run(context):
    count = 10_000 if context.quick else 100_000
    empty, full = _measure(context, "subnets", count)
    metrics = [
        Metric("subnets", count, ""),
        Metric("restart_to_ready", full["ready"], "s"),
        Metric("restart_to_work", full["work"], "s"),
        Metric("cpu_to_work", full["cpu"], "s"),
        Metric("rss_at_work", full["rss_at_work"] / 2**20, "MiB"),
        Metric("rss", full["rss"] / 2**20, "MiB"),
        Metric("rss_peak", full["peak"] / 2**20, "MiB"),
        Metric("rss_empty", empty["rss"] / 2**20, "MiB"),
        Metric("bytes_per_subnet", (full["rss"] - empty["rss"]) / count, "bytes"),
    ]
    if not context.quick:
        empty, full = _measure(context, "subnetclaims", CLAIMS)
        metrics.append(Metric("bytes_per_claim", (full["rss"] - empty["rss"]) / CLAIMS, "bytes"))
    return metrics


def _measure(context, plural, count):
    state = context.work / plural
    with Program([context.berth(), "demo", "--port", 0, "--state-dir", state], context.server_cpu, context.work) as demo:
        cluster = Cluster(demo, state)
        empty = _restart(context, state, f"{plural}-empty", 0)
        _fill(cluster, plural, count)
        return empty, _restart(context, state, f"{plural}-full", count)


def _restart(context, state, name, count):
    command = [context.berth(), "serve", "--kubeconfig", state / "kubeconfig", "--state-dir", context.work / name,
               "--bind-address", "127.0.0.1", "--webhook-port", 0, "--api-port", 0, "--metrics-port", 0, "--health-port", 0]
    began, clock = time.monotonic(), time.time()
    with Program(command, context.load_cpu, context.work, {"POD_NAMESPACE": LEASES, "POD_NAME": name}) as berth:
        port = berth.log_line({"msg": "listening", "listener": "health"})["port"]
        while not _ready(port):
            if berth.process.poll() is not None or time.monotonic() - began > PATIENCE:
                berth.fail("does not become ready")
            time.sleep(0.01)
        ready = time.monotonic() - began
        line = berth.log_line({"msg": "system at work"}, PATIENCE)
        at_work, cpu = berth.rss(), berth.cpu_seconds()
        if line["keys"] < count:
            raise BenchError(f"{line['keys']} objects are known, which is less than {count} Subnets")
        time.sleep(REST)
        return {"ready": ready, "work": _seconds(line["ts"]) - clock, "cpu": cpu, "rss_at_work": at_work,
                "rss": berth.rss(), "peak": peak(berth)}


def _ready(port):
    with contextlib.suppress(OSError, http.client.HTTPException):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=5)
        with contextlib.closing(connection):
            connection.request("GET", "/readyz")
            return connection.getresponse().status == 200
    return False


def _seconds(timestamp):
    return datetime.datetime.fromisoformat(timestamp).timestamp()


def peak(program):
    for line in pathlib.Path(f"/proc/{program.pid}/status").read_text().splitlines():
        if line.startswith("VmHWM:"):
            return int(line.split()[1]) * 1024
    program.fail("has no VmHWM")


class Cluster:
    """The demo's API, with the token of its kubeconfig."""

    def __init__(self, demo, state):
        deadline = time.monotonic() + PATIENCE
        while True:
            with contextlib.suppress(OSError, AttributeError, BenchError, http.client.HTTPException):
                text = (state / "kubeconfig").read_text()
                self.port = int(re.search(r"https://127\.0\.0\.1:(\d+)", text)[1])
                self.token = re.search(r'token: "(\w+)"', text)[1]
                self.tls = ssl.create_default_context(cafile=state / "certs" / "ca.crt")
                self.call(self.connect(), "GET", f"{GROUP}/subnetpools")
                break
            if demo.process.poll() is not None or time.monotonic() > deadline:
                demo.fail("does not serve")
            time.sleep(0.1)
        one = self.connect()
        self.call(one, "POST", "/api/v1/namespaces", {"apiVersion": "v1", "kind": "Namespace", "metadata": {"name": LEASES}})

    def connect(self):
        return http.client.HTTPSConnection("127.0.0.1", self.port, timeout=60, context=self.tls)

    def call(self, connection, method, path, body=None):
        connection.request(method, path, json.dumps(body) if body else None,
                           {"Authorization": f"Bearer {self.token}", "Content-Type": "application/json"})
        answer = connection.getresponse()
        text = answer.read()
        if answer.status not in (200, 201):
            raise BenchError(f"{method} {path}: {answer.status} {text[:500].decode(errors='replace')}")
        return json.loads(text)


def _fill(cluster, plural, count):
    one = cluster.connect()
    cluster.call(one, "POST", f"{GROUP}/subnetpools", _object("SubnetPool", "site", {"cidr": "10.0.0.0/8"}))
    began = time.monotonic()
    with concurrent.futures.ThreadPoolExecutor(CONNECTIONS) as pool:
        for done in [pool.submit(_create, cluster, plural, range(first, count, CONNECTIONS)) for first in range(CONNECTIONS)]:
            done.result()
    say(f"restart: {count:,} {plural} made in {time.monotonic() - began:.0f} s")
    # Nothing is left to be written: neither their phases nor the pool's count.
    deadline = time.monotonic() + PATIENCE
    while not _settled(cluster, one, count):
        if time.monotonic() > deadline:
            raise BenchError("the demo does not come to rest")
        time.sleep(0.5)
    say(f"restart: and settled after {time.monotonic() - began:.0f} s")


def _settled(cluster, connection, count):
    if cluster.call(connection, "GET", f"{GROUP}/subnetpools/site").get("status", {}).get("allocatedCount") != count:
        return False
    queues = cluster.call(connection, "GET", "/apis/live.berth.dev/v1alpha1/workqueues")["items"]
    return all(queue["status"]["depth"] == 0 and queue["status"]["processing"] == 0
               for queue in queues if queue["metadata"]["name"] in ("CIDRAllocator", "Subnet", "PoolStatus"))


def _create(cluster, plural, numbers):
    connection = cluster.connect()
    for number in numbers:
        spec = {"poolRef": "site", "clusterID": f"cluster-{number}"}
        if plural == "subnets":
            address = (10 << 24) + (number << (32 - BLOCK))
            octets = [str(address >> shift & 255) for shift in (24, 16, 8, 0)]
            made = _object("Subnet", f"site-{'-'.join(octets)}-{BLOCK}", spec | {"cidr": f"{'.'.join(octets)}/{BLOCK}"})
        else:
            made = _object("SubnetClaim", f"claim-{number}", spec | {"blockSize": BLOCK})
        cluster.call(connection, "POST", f"{GROUP}/{plural}", made)


def _object(kind, name, spec):
    return {"apiVersion": "plexaubnet.io/v1alpha1", "kind": kind, "metadata": {"name": name, "namespace": "default"}, "spec": spec}
