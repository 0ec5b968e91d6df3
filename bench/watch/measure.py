"""Watch fan-out: lines a second to many watchers of one object, and what a watcher costs in memory.

The interface between the parts
  server   `bench_watch_server --cert F --key F --client-ca F` (bench/watch/server.cc) and bench/peers/watch print one line
           {"port":N,"pid":N} and serve GET /apis/live.berth.dev/v1alpha1/ticks?watch=true over TLS to a client certificate of
           the CA: one object, first as ADDED, then every update as MODIFIED, none left out; `status.adds` grows by exactly
           one with each, `metadata.resourceVersion` grows; "type" is the first key of a line. On stdin: `burst COUNT`
           publishes COUNT updates as fast as it can, `quit` ends.
  client   `bench_watch` (bench/watch/client.cc) checks every line of every watcher; its commands are told there.
"""

import contextlib
import pathlib
import statistics
import time

from bench.harness import BenchError, Metric, Program, allow_files, check_undisturbed, say

TARGETS = ["bench_watch", "bench_watch_server"]
SOURCES = ["handlers", "server"]
WATCHERS = 5000
CAPTION = (f"{WATCHERS:,} watchers of one object, TLS, one core for the server; each line checked for order, gap and duplicate.\n"
           "Peer: Go net/http with apimachinery's watch.Broadcaster, GOMAXPROCS=1.")

PATH = "/apis/live.berth.dev/v1alpha1/ticks?watch=true&resourceVersion=0&allowWatchBookmarks=true&timeoutSeconds=3600"
HEADERS = ["X-Remote-User: bench", "X-Remote-Group: system:masters"]
PATIENCE = 120
STALL_WATCHERS = 4
STALL_BURST = 500


def run(context):
    allow_files(WATCHERS + 256)
    commands = {"berth": context.program("bench_watch_server")}
    if context.peer("watch"):
        commands["peer"] = context.peer("watch")
    rounds = 1 if context.quick else 3
    measured = {name: [] for name in commands}
    for number in range(rounds):
        for name, command in commands.items():
            sample = _measure(context, command)
            measured[name].append(sample)
            say(f"watch: round {number + 1}/{rounds}: {name}: {sample['lines_per_second']:,.0f} lines/s of "
                f"{sample['line_bytes']:.0f} bytes, {sample['bytes_per_watcher'] / 1024:.1f} KiB a watcher, server "
                f"{sample['server_busy']:.0%} busy, client {sample['client_busy']:.0%} busy")
            check_undisturbed(name, sample["server_busy"], sample["client_busy"])
    behind, grown = stall(context, commands["berth"])
    say(f"watch: a watcher that stopped reading was cut off, {behind:,} events behind; the server grew {grown / 2**20:.1f} MiB")
    return [*_metrics(measured), Metric("stalled_grown", grown / 2**20, "MiB")]


def _metrics(measured):
    def median(name, key):
        samples = measured.get(name)
        return statistics.median(sample[key] for sample in samples) if samples else None

    units = {"lines_per_second": "lines/s", "line_bytes": "bytes", "cpu_us_per_line": "µs", "bytes_per_watcher": "bytes"}
    return [Metric(key, median("berth", key), unit, median("peer", key)) for key, unit in units.items()]


@contextlib.contextmanager
def _server(context, command):
    certs = context.certs
    arguments = ["--cert", certs.cert, "--key", certs.key, "--client-ca", certs.proxy_ca]
    with Program([command, *arguments], context.server_cpu, context.work, {"GOMAXPROCS": "1"}) as server:
        yield server, server.receive()["port"]
        server.send("quit")


@contextlib.contextmanager
def _watchers(context, port, count, *options):
    certs = context.certs
    command = [context.program("bench_watch"), "--port", port, "--watchers", count, "--path", PATH, "--cert", certs.client_cert,
               "--key", certs.client_key, "--ca", certs.ca, *options]
    for header in HEADERS:
        command += ["--header", header]
    with Program(command, context.load_cpu, context.work) as client:
        _expect(client, "ready")
        yield client
        client.send("quit")


def _expect(client, event):
    answer = client.receive(PATIENCE)
    if answer.get("event") != event:
        client.fail(answer.get("message") or f"said {answer} where {event} was due")
    return answer


def _burst(server, client, count):
    """COUNT updates published; returns when every watcher has them all."""
    client.send(f"await {count}")
    waiting = _expect(client, "awaiting")["watchers"]
    server.send(f"burst {count}")
    done = _expect(client, "done")
    if done["lines"] < waiting * count:
        raise BenchError(f"{done['lines']} lines for {waiting} watchers and {count} events")
    return done


def _measure(context, command):
    bursts, count, limit = (3, 20, 3) if context.quick else (5, 40, 60)
    with _server(context, command) as (server, port):
        with _watchers(context, port, 1):
            pass  # What the first connection costs once is not a watcher's.
        before = server.rss()
        with _watchers(context, port, WATCHERS) as client:
            time.sleep(0.5)
            idle = server.rss()
            _burst(server, client, 2)
            cpu = server.cpu_seconds(), client.cpu_seconds()
            done = []
            while len(done) < bursts and sum(burst["seconds"] for burst in done) < limit:
                done.append(_burst(server, client, count))
            cpu = server.cpu_seconds() - cpu[0], client.cpu_seconds() - cpu[1]
    lines, seconds = (sum(burst[key] for burst in done) for key in ("lines", "seconds"))
    return {"lines_per_second": statistics.median(burst["lines"] / burst["seconds"] for burst in done),
            "bytes_per_watcher": (idle - before) / WATCHERS, "line_bytes": sum(burst["bytes"] for burst in done) / lines,
            "cpu_us_per_line": cpu[0] / lines * 1e6, "server_busy": cpu[0] / seconds, "client_busy": cpu[1] / seconds}


def stall(context, command):
    """One of a few watchers stops reading: it must be cut off, while the others miss nothing. Returns how many events it was
    behind and how many bytes the server grew."""
    # The kernel takes this much for a reader that does not read; then come the server's own bounds.
    kernel = int(pathlib.Path("/proc/sys/net/ipv4/tcp_wmem").read_text().split()[2])
    published = 0
    with _server(context, command) as (server, port), _watchers(
            context, port, STALL_WATCHERS, "--may-stall", "yes") as client:
        _burst(server, client, STALL_BURST)
        before = server.rss()
        client.send("stall")
        _expect(client, "stalled")
        while published < kernel + 2**23:
            published += _burst(server, client, STALL_BURST)["bytes"] / (STALL_WATCHERS - 1)
        grown = server.rss() - before
        client.send("resume")
        resumed = _expect(client, "resumed")
        if not resumed["cut"]:
            raise BenchError(f"a watcher that stopped reading was not cut off after {published / 2**20:.0f} MiB")
        _burst(server, client, STALL_BURST)
    return resumed["behind"], grown
