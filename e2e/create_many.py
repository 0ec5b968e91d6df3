#!/usr/bin/env python3
"""Creates objects through the API server as fast as a few connections allow, and says how fast that was.

Reads FILE, one JSON object a line, and POSTs each to PATH on --server. Every thread keeps one TLS connection open, so that what is measured
is the server and not the handshake. A 429 is tried again after the time the server asks for; any other refusal ends the run with status 1.
The last line of output is JSON: {"created": N, "seconds": S, "perSecond": R}.
"""

import argparse
import http.client
import json
import queue
import ssl
import sys
import threading
import time
import urllib.parse


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--server", required=True, help="https://HOST:PORT")
    parser.add_argument("--ca", required=True, help="file with the server's CA")
    parser.add_argument("--cert", required=True, help="file with the client's certificate")
    parser.add_argument("--key", required=True, help="file with the client's key")
    parser.add_argument("--threads", type=int, default=16)
    parser.add_argument("--timeout", type=float, default=60, help="seconds for one request")
    parser.add_argument("path", help="/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL")
    parser.add_argument("file")
    return parser.parse_args()


class Creator(threading.Thread):
    """Takes bodies from the queue until it is empty, or until some thread has failed."""

    def __init__(self, options, context, bodies, failures):
        super().__init__(daemon=True)
        url = urllib.parse.urlsplit(options.server)
        self.connection = http.client.HTTPSConnection(url.hostname, url.port, timeout=options.timeout, context=context)
        self.path = options.path
        self.bodies = bodies
        self.failures = failures
        self.created = 0

    def run(self):
        try:
            while not self.failures:
                try:
                    body = self.bodies.get_nowait()
                except queue.Empty:
                    return
                self.create(body)
                self.created += 1
        except Exception as error:  # whatever it is, the main thread reports it
            self.failures.append(error)
        finally:
            self.connection.close()

    def create(self, body):
        headers = {"Content-Type": "application/json", "Accept": "application/json"}
        while True:
            self.connection.request("POST", self.path, body, headers)
            response = self.connection.getresponse()
            answer = response.read()  # all of it, or the connection cannot be used again
            if response.status == 201:
                return
            if response.status != 429:
                raise RuntimeError(f"HTTP {response.status}: {answer.decode(errors='replace')[:2000]}")
            time.sleep(float(response.headers.get("Retry-After", 1)))


def main():
    options = arguments()
    context = ssl.create_default_context(cafile=options.ca)
    context.load_cert_chain(options.cert, options.key)
    bodies, failures = queue.SimpleQueue(), []
    with open(options.file, "rb") as lines:
        for line in lines:
            if line.strip():
                bodies.put(line)
    creators = [Creator(options, context, bodies, failures) for _ in range(max(1, options.threads))]
    for creator in creators:
        creator.connection.connect()  # before the clock starts
    began = time.monotonic()
    for creator in creators:
        creator.start()
    for creator in creators:
        creator.join()
    seconds = time.monotonic() - began
    if failures:
        sys.exit(f"create_many: {failures[0]}")
    created = sum(creator.created for creator in creators)
    print(json.dumps({"created": created, "seconds": round(seconds, 3), "perSecond": round(created / seconds, 1) if seconds else 0}))


if __name__ == "__main__":
    main()
