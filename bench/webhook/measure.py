"""Admission reviews a second: Berth, controller-runtime's webhook server and the floor (Drogon, constant answer).

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

from bench.harness import BenchError, Metric, Program, check_undisturbed, free_port, say

TARGETS = ["berth", "bench_webhook_floor"]
CAPTION = ("AdmissionReview of 4,110 bytes (SubnetPool CREATE), TLS keep-alive, 16 connections, one core for the server.\n"
           "Peer: controller-runtime's webhook server, GOMAXPROCS=1. Floor: Drogon with a constant answer.")

FOLDER = pathlib.Path(__file__).resolve().parent
REVIEW = FOLDER / "review.json"
PATH = "/validate/plexaubnet.io/subnetpools?timeout=5s"
CONNECTIONS = 16
WARM_UP_SECONDS = 1


def run(context):
    servers = {"berth": _berth, "floor": _floor}
    if context.peer("webhook"):
        servers["peer"] = _peer
    rounds, seconds = (3, 2) if context.quick else (5, 5)
    measured = {name: [] for name in servers}
    for number in range(rounds):
        for name, start in servers.items():
            with start(context) as (program, port):
                sample = _measure(context, program, port, seconds)
            measured[name].append(sample)
            say(f"webhook: round {number + 1}/{rounds}: {name}: {sample['requests_per_second']:,.0f} req/s, "
                f"server {sample['server_busy']:.0%} busy, wrk {sample['wrk_busy']:.0%} busy")
            check_undisturbed(name, sample["server_busy"], sample["wrk_busy"])
    return _metrics(measured)


def _metrics(measured):
    def median(name, key):
        samples = measured.get(name)
        return statistics.median(sample[key] for sample in samples) if samples else None

    units = {"requests_per_second": "req/s", "p50_ms": "ms", "p99_ms": "ms", "cpu_us_per_request": "µs", "rss": "MiB"}
    rows = [Metric(key, median("berth", key), unit, median("peer", key)) for key, unit in units.items()]
    rate = "requests_per_second"
    return rows + [Metric("floor_ratio", median("berth", rate), "req/s", median("floor", rate))]


@contextlib.contextmanager
def _berth(context):
    certs = context.certs
    state = context.work / f"state-{time.monotonic_ns()}"
    state.mkdir()
    command = [context.berth(), "serve", "--bind-address", "127.0.0.1", "--webhook-port", 0, "--api-port", 0,
               "--metrics-port", 0, "--health-port", 0, "--tls-cert-file", certs.cert, "--tls-private-key-file", certs.key,
               "--requestheader-client-ca-file", certs.proxy_ca, "--state-dir", state, "--io-threads", 1,
               "--log-format", "json"]
    with Program(command, context.server_cpu, context.work) as program:
        yield program, program.log_line({"msg": "listening", "listener": "webhook"})["port"]


@contextlib.contextmanager
def _floor(context):
    command = [context.program("bench_webhook_floor"), context.certs.cert, context.certs.key, _uid()]
    with Program(command, context.server_cpu, context.work) as program:
        yield program, program.receive()["port"]


@contextlib.contextmanager
def _peer(context):
    port = free_port()
    command = [context.peer("webhook"), "--cert-dir", context.certs.folder, "--port", port]
    with Program(command, context.server_cpu, context.work, {"GOMAXPROCS": "1"}) as program:
        yield program, port


def _uid():
    return json.loads(REVIEW.read_text())["request"]["uid"]


def _measure(context, program, port, seconds):
    _check_when_up(context, program, port)
    _wrk(context, port, WARM_UP_SECONDS)
    cpu = program.cpu_seconds()
    result = _wrk(context, port, seconds)
    cpu = program.cpu_seconds() - cpu
    rss = program.rss()
    _check(context, port)
    return {"requests_per_second": result["requests"] / result["seconds"], "p50_ms": result["p50_ms"],
            "p99_ms": result["p99_ms"], "rss": rss / 2**20, "cpu_us_per_request": cpu / result["requests"] * 1e6,
            "server_busy": cpu / result["seconds"], "wrk_busy": result["busy"]}


def _check_when_up(context, program, port):
    deadline = time.monotonic() + 30
    while True:
        try:
            return _check(context, port)
        except ConnectionRefusedError:
            if time.monotonic() > deadline or program.process.poll() is not None:
                program.fail("does not listen")
            time.sleep(0.05)


def _check(context, port):
    """One review must be answered 200, allowed, with its own uid."""
    tls = ssl.create_default_context(cafile=str(context.certs.ca))
    connection = http.client.HTTPSConnection("127.0.0.1", port, timeout=10, context=tls)
    with contextlib.closing(connection):
        connection.request("POST", PATH, REVIEW.read_bytes(), {"Content-Type": "application/json"})
        answer = connection.getresponse()
        body = answer.read()
    try:
        response = json.loads(body)["response"]
        good = answer.status == 200 and response["allowed"] is True and response["uid"] == _uid()
    except (ValueError, KeyError, TypeError):
        good = False
    if not good:
        raise BenchError(f"wrong answer: {answer.status} {body[:500]!r}")


def _wrk(context, port, seconds):
    command = ["taskset", "-c", str(context.load_cpu), "wrk", "-t1", f"-c{CONNECTIONS}", f"-d{seconds}s", "--timeout", "5s",
               "-s", FOLDER / "review.lua", f"https://127.0.0.1:{port}{PATH}", "--", REVIEW]
    before = os.times()
    done = subprocess.run(command, capture_output=True, text=True, timeout=seconds + 30)
    after = os.times()
    lines = [line for line in done.stdout.splitlines() if line.startswith("{")]
    if done.returncode or not lines:
        raise BenchError(f"wrk: status {done.returncode}: {done.stdout}{done.stderr}")
    result = json.loads(lines[-1])
    if result["errors"] or not result["requests"]:
        raise BenchError(f"wrk: not every request was answered well: {lines[-1]}")
    busy = after.children_user + after.children_system - before.children_user - before.children_system
    return {**result, "busy": busy / seconds}
