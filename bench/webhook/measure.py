"""Admission reviews a second: Berth, controller-runtime's webhook server, a Rust server and the floor (Drogon, constant answer);
and creates of SubnetClaims by Berth alone.

Each server is alone on one core, wrk on the other, and the rounds are interleaved, so that noise hits all alike.
"""

import contextlib
import http.client
import json
import os
import pathlib
import ssl
import statistics
import subprocess
import time

from bench.harness import IMAGE, BenchError, Metric, Program, check_undisturbed, free_port, say
from bench.restart.measure import GROUP, LEASES, Cluster

TARGETS = ["berth", "bench_webhook_floor"]
SOURCES = ["async", "handlers", "http", "kube", "reconcile", "server"]
CAPTION = ("AdmissionReview of 4,110 bytes (SubnetPool CREATE), TLS keep-alive, 16 connections, one core for the server.\n"
           "Peer: controller-runtime's webhook server, GOMAXPROCS=1; in rows rust_…: axum, rustls and kube-rs's types on one thread.\n"
           "Floor: Drogon with a constant answer. Rows claim_…: SubnetClaim CREATE, each of another claim; the first 256 reserve a block,\n"
           "which is as many as a pool keeps reserved, the others pass without.")

FOLDER = pathlib.Path(__file__).resolve().parent
CONNECTIONS = 16
WARM_UP_SECONDS = 1
UNITS = {"requests_per_second": "req/s", "p50_ms": "ms", "p99_ms": "ms", "cpu_us_per_request": "µs", "rss": "MiB"}
CLAIMED_POOL = {"apiVersion": "plexaubnet.io/v1alpha1", "kind": "SubnetPool", "metadata": {"name": "bench", "namespace": "default"},
                "spec": {"cidr": "10.0.0.0/8"}}


class PoolReview:
    """The same SubnetPool again and again."""

    path = "/validate/plexaubnet.io/subnetpools?timeout=5s"
    file = "review.json"
    script = "review.lua"

    def body(self):
        return (FOLDER / self.file).read_bytes()

    def arguments(self):
        return [self.file]


class ClaimReview:
    """Another SubnetClaim each time."""

    path = "/mutate/plexaubnet.io/subnetclaims?timeout=5s"
    file = "claim.json"
    script = "claim.lua"

    def __init__(self):
        self._first = 0  # Of each call of wrk, and of each single review: no two have a claim in common.

    def body(self):
        self._first += 10_000_000
        return (FOLDER / self.file).read_bytes().replace(b"0" * 12, b"%012d" % self._first)

    def arguments(self):
        self._first += 10_000_000
        return [self.file, self._first]


def run(context):
    servers = {"berth": _berth, "floor": _floor}
    if context.peer("webhook"):
        servers["peer"] = _peer("webhook")
    if context.peer("webhook-rust"):
        servers["rust"] = _peer("webhook-rust")
    else:
        say("WARNING: webhook: there is no Rust peer program: the rows rust_… have no peer")
    servers["claim"] = _claimed_berth
    rounds, seconds = (3, 1) if context.quick else (5, 5)
    measured = {name: [] for name in servers}
    for number in range(rounds):
        for name, start in servers.items():
            with start(context) as (program, port):
                sample = _measure(context, program, port, seconds, ClaimReview() if name == "claim" else PoolReview())
            measured[name].append(sample)
            say(f"webhook: round {number + 1}/{rounds}: {name}: {sample['requests_per_second']:,.0f} req/s, "
                f"server {sample['server_busy']:.0%} busy, wrk {sample['wrk_busy']:.0%} busy")
            check_undisturbed(name, sample["server_busy"], sample["wrk_busy"])
    return _metrics(measured)


def _metrics(measured):
    def median(name, key):
        samples = measured.get(name)
        return statistics.median(sample[key] for sample in samples) if samples else None

    def rows(prefix, value, peer, keys):
        return [Metric(prefix + key, median(value, key), UNITS[key], median(peer, key)) for key in keys]

    rate, *others = UNITS
    return [*rows("", "berth", "peer", UNITS),
            Metric("floor_ratio", median("berth", rate), "req/s", median("floor", rate)),
            Metric("floor_cpu_us_per_request", median("berth", "cpu_us_per_request"), "µs", median("floor", "cpu_us_per_request")),
            Metric("rust_ratio", median("berth", rate), "req/s", median("rust", rate)),
            *rows("rust_", "berth", "rust", others),
            # Without RSS: that depends on how many blocks were reserved in the time.
            *rows("claim_", "claim", None, list(UNITS)[:-1])]


@contextlib.contextmanager
def _berth(context, *options):
    certs = context.certs
    state = context.work / f"state-{time.monotonic_ns()}"
    state.mkdir()
    command = [context.berth(), "serve", "--bind-address", "127.0.0.1", "--webhook-port", 0, "--api-port", 0,
               "--metrics-port", 0, "--health-port", 0, "--tls-cert-file", certs.cert, "--tls-private-key-file", certs.key,
               "--requestheader-client-ca-file", certs.proxy_ca, "--state-dir", state, "--io-threads", 1,
               "--log-format", "json", "--shutdown-delay", "0s", *options]
    # The lease is of a namespace of its own: a demo leads by another.
    with Program(command, context.server_cpu, context.work, {**IMAGE, "POD_NAMESPACE": LEASES, "POD_NAME": "bench"}) as program:
        yield program, program.log_line({"msg": "listening", "listener": "webhook"})["port"]


@contextlib.contextmanager
def _claimed_berth(context):
    """Berth that leads and has a pool to reserve from. The API server is a demo, idle on wrk's core."""
    state = context.work / f"demo-{time.monotonic_ns()}"
    command = [context.berth(), "demo", "--port", 0, "--state-dir", state, "--no-cloud"]
    with Program(command, context.load_cpu, context.work) as demo:
        cluster = Cluster(demo, state)
        cluster.call(cluster.connect(), "POST", f"{GROUP}/subnetpools", CLAIMED_POOL)
        with _berth(context, "--kubeconfig", state / "kubeconfig") as (program, port):
            program.log_line({"msg": "system at work"})
            yield program, port


@contextlib.contextmanager
def _floor(context):
    command = [context.program("bench_webhook_floor"), context.certs.cert, context.certs.key, _uid(PoolReview().body())]
    with Program(command, context.server_cpu, context.work, IMAGE) as program:
        yield program, program.receive()["port"]


def _peer(name):
    @contextlib.contextmanager
    def start(context):
        port = free_port()
        command = [context.peer(name), "--cert-dir", context.certs.folder, "--port", port]
        with Program(command, context.server_cpu, context.work, {"GOMAXPROCS": "1"}) as program:
            yield program, port

    return start


def _uid(body):
    return json.loads(body)["request"]["uid"]


def _measure(context, program, port, seconds, review):
    _check_when_up(context, program, port, review)
    _wrk(context, port, WARM_UP_SECONDS, review)
    cpu = program.cpu_seconds()
    result = _wrk(context, port, seconds, review)
    cpu = program.cpu_seconds() - cpu
    rss = program.rss()
    _check(context, port, review)
    return {"requests_per_second": result["requests"] / result["seconds"], "p50_ms": result["p50_ms"],
            "p99_ms": result["p99_ms"], "rss": rss / 2**20, "cpu_us_per_request": cpu / result["requests"] * 1e6,
            "server_busy": cpu / result["seconds"], "wrk_busy": result["busy"]}


def _check_when_up(context, program, port, review):
    deadline = time.monotonic() + 30
    while True:
        try:
            return _check(context, port, review)
        except ConnectionRefusedError:
            if time.monotonic() > deadline or program.process.poll() is not None:
                program.fail("does not listen")
            time.sleep(0.05)


def _check(context, port, review):
    """One review must be answered 200, allowed, with its own uid."""
    tls = ssl.create_default_context(cafile=str(context.certs.ca))
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=tls)
    sent = review.body()
    with contextlib.closing(connection):
        connection.request("POST", review.path, sent, {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
    try:
        response = json.loads(body)["response"]
        good = answer.status == 200 and response["allowed"] is True and response["uid"] == _uid(sent)
    except (ValueError, KeyError, TypeError):
        good = False
    if not good:
        raise BenchError(f"wrong answer: {answer.status} {body[:500]!r}")


def _wrk(context, port, seconds, review):
    command = ["taskset", "-c", str(context.load_cpu), "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "5s",
               "-s", review.script, f"https://127.0.0.1:{port}{review.path}", "--", *map(str, review.arguments())]
    before = os.times()
    done = subprocess.run(command, cwd=FOLDER, capture_output=True, text=True, timeout=seconds + 30)
    after = os.times()
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise BenchError(f"wrk: status {done.returncode}: {done.stdout}{done.stderr}")
    result = json.loads(lines[-1])
    if result["errors"] or not result["requests"]:
        raise BenchError(f"wrk: not every request was answered well: {lines[-1]}")
    busy = after.children_user + after.children_system - before.children_user - before.children_system
    return {**result, "busy": busy / seconds}
