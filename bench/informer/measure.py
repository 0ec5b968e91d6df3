"""Berth's informer and client-go's, on the same server with the same objects."""

from bench.harness import BenchError, Metric, Program

TARGETS = ["bench_informer", "bench_informer_server"]
SOURCES = ["async", "http", "kube"]
CAPTION = ("200,000 Sandbox-like objects of 5 KB in a cache with one index, over plain HTTP, a core for the client and one for the "
           "server. bytes_per_object is RSS over objects; the peer is client-go's dynamic informer with a transform that keeps "
           "the same fields, unless a row says whole (no transform)")
PATIENCE = 300


def run(context):
    count = 50_000 if context.quick else 200_000
    changes = 100_000 if context.quick else 400_000
    ours = _measure(context, [context.program("bench_informer")], count, changes)
    peer = context.peer("informer")
    theirs = _measure(context, [peer, "projected"], count, changes) if peer else {}
    whole = _measure(context, [peer, "whole"], count, changes) if peer and not context.quick else {}
    return [
        Metric("objects", count, ""),
        Metric("bytes_per_object", ours["bytes_per_object"], "bytes", theirs.get("bytes_per_object")),
        Metric("bytes_per_object_peer_whole", ours["bytes_per_object"], "bytes", whole.get("bytes_per_object")),
        Metric("rss", ours["rss"], "MiB", theirs.get("rss")),
        Metric("list_to_synced", ours["synced"], "s", theirs.get("synced")),
        Metric("server_busy_while_listing", ours["server_busy"], "of a core", theirs.get("server_busy")),
        Metric("events_per_second", ours["events"], "1/s", theirs.get("events")),
        Metric("cpu_us_per_event", ours["cpu_us"], "us", theirs.get("cpu_us")),
    ]


def _measure(context, command, count, changes):
    with Program([context.program("bench_informer_server"), count], context.server_cpu, context.work) as server:
        port = server.receive()["port"]
        with Program([*command, f"http://127.0.0.1:{port}"], context.load_cpu, context.work) as client:
            synced = _expect(client, "synced")
            if synced["objects"] != count:
                raise BenchError(f"{client.name}: {synced['objects']} objects of {count}")
            busy = server.cpu_seconds() / synced["seconds"]
            rss = client.rss()
            cpu = client.cpu_seconds()
            client.send(f"await {changes}")
            _expect(client, "awaiting")
            server.send(f"burst {changes}")
            done = _expect(client, "done")
            cpu = client.cpu_seconds() - cpu
    return {"bytes_per_object": rss / count, "rss": rss / 2**20, "synced": synced["seconds"], "server_busy": busy,
            "events": changes / done["seconds"], "cpu_us": cpu / changes * 1e6}


def _expect(client, event):
    answer = client.receive(PATIENCE)
    if answer.get("event") != event:
        client.fail(f"said {answer} where {event} was due")
    return answer
