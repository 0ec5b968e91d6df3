#!/usr/bin/env python3
"""Clients that take all the memory they can get: what the server holds at most, and what is left of it.

    e2e/pressure.py ATTACK PID CA WEBHOOK_PORT METRICS_PORT

    cidr      60 clients post a review whose spec.cidr is 6.9 MiB, and do not read the answer
    metrics   30 connections ask for /metrics again and again, and do not read
    numbers   8 clients post 7 MiB of [1,1,...]

Prints one JSON object: the greatest and the last resident size of PID in MiB, and what an ordinary review was answered meanwhile, and how long
the slowest took.
"""

import concurrent.futures
import json
import pathlib
import socket
import ssl
import sys
import time

PATH = "/validate/plexaubnet.io/subnetpools"
LIMIT = 20  # seconds for one attack


def review(cidr):
    pool = {"apiVersion": "plexaubnet.io/v1alpha1", "kind": "SubnetPool", "metadata": {"name": "p", "namespace": "default"},
            "spec": {"cidr": cidr}}
    request = {"uid": "u", "kind": {"group": "plexaubnet.io", "version": "v1alpha1", "kind": "SubnetPool"},
               "resource": {"group": "plexaubnet.io", "version": "v1alpha1", "resource": "subnetpools"}, "name": "p",
               "namespace": "default", "operation": "CREATE", "userInfo": {"username": "u"}, "object": pool}
    return json.dumps({"apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview", "request": request}).encode()


def post(body):
    head = f"POST {PATH} HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\nContent-Length: {len(body)}\r\n\r\n"
    return head.encode() + body


class Server:
    def __init__(self, pid, ca, webhook, metrics):
        self.status = pathlib.Path(f"/proc/{pid}/status")
        self.clear = pathlib.Path(f"/proc/{pid}/clear_refs")
        self.webhook, self.metrics = int(webhook), int(metrics)
        self.context = ssl.create_default_context(cafile=ca)
        self.context.check_hostname = False

    def mib(self, field):
        line = next(line for line in self.status.read_text().splitlines() if line.startswith(field + ":"))
        return int(line.split()[1]) / 1024

    def forget_peak(self):
        self.clear.write_text("5")

    def connect(self, port, secure):
        plain = socket.create_connection(("127.0.0.1", port), timeout=LIMIT)
        return self.context.wrap_socket(plain) if secure else plain

    def ordinary(self):
        """The code of an ordinary review on a connection of its own, and its seconds."""
        began = time.monotonic()
        with self.connect(self.webhook, True) as connection:
            connection.sendall(post(review("10.0.0.0/16")))
            return int(connection.recv(4096).split()[1]), time.monotonic() - began


def send_and_hold(server, port, secure, data, times):
    """Sends without reading until the server takes no more; the open connection."""
    connection = server.connect(port, secure)
    connection.settimeout(5)
    try:
        for _ in range(times):
            connection.sendall(data)
    except OSError:
        pass  # refused, or its buffers are full
    return connection


ATTACKS = {
    "cidr": (60, lambda server: send_and_hold(server, server.webhook, True, post(review("1" * (69 * 1024 * 1024 // 10))), 1)),
    "metrics": (30, lambda server: send_and_hold(server, server.metrics, False, b"GET /metrics HTTP/1.1\r\nHost: x\r\n\r\n" * 32, 400)),
    "numbers": (8, lambda server: send_and_hold(server, server.webhook, True, post(b"[" + b"1," * (7 * 512 * 1024 - 2) + b"1]"), 1)),
}


def main():
    attack, *rest = sys.argv[1:]
    server = Server(*rest)
    count, client = ATTACKS[attack]
    server.forget_peak()
    codes, slowest = set(), 0
    with concurrent.futures.ThreadPoolExecutor(count) as pool:
        clients = [pool.submit(client, server) for _ in range(count)]
        deadline = time.monotonic() + LIMIT
        while not all(c.done() for c in clients) and time.monotonic() < deadline:
            code, seconds = server.ordinary()
            codes.add(code)
            slowest = max(slowest, seconds)
        held = server.mib("VmRSS")
        for c in clients:
            c.result().close()
    peak = server.mib("VmHWM")
    deadline = time.monotonic() + 30
    while server.mib("VmRSS") > 90 and time.monotonic() < deadline:
        time.sleep(0.2)
    print(json.dumps({"peak": round(peak), "held": round(held), "after": round(server.mib("VmRSS")), "codes": sorted(codes),
                      "slowest": round(slowest, 2)}))


if __name__ == "__main__":
    main()
