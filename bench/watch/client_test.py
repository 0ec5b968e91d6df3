#!/usr/bin/env python3
"""bench_watch must notice every fault it is there to notice: it is run against a server that commits them.

scripts/bench builds it; then: bench/watch/client_test.py
"""

import contextlib
import os
import pathlib
import socket
import ssl
import sys
import tempfile
import threading
import unittest

sys.dont_write_bytecode = True
sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent.parent))
from bench.harness import ROOT, BenchError, Context  # noqa: E402
from bench.watch import measure  # noqa: E402

HEAD = b"HTTP/1.1 200 OK\r\nContent-Type: application/json\r\nTransfer-Encoding: chunked\r\n\r\n"


def event(adds, kind="MODIFIED", version=None):
    return (b'{"type":"%s","object":{"metadata":{"resourceVersion":"%d"},"status":{"adds":%d}}}\n'
            % (kind.encode(), adds if version is None else version, adds))


def chunk(data):
    return b"%x\r\n%s\r\n" % (len(data), data)


FIRST = HEAD + chunk(event(7, "ADDED"))


class FaultyServer(threading.Thread):
    """Serves one connection: `first` at once, `then` when told to go on; afterwards it closes, or waits for the client to."""

    def __init__(self, certs, first, then, close):
        super().__init__(daemon=True)
        self._tls = ssl.create_default_context(ssl.Purpose.CLIENT_AUTH, cafile=str(certs.proxy_ca))
        self._tls.verify_mode = ssl.CERT_REQUIRED
        self._tls.load_cert_chain(certs.cert, certs.key)
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = self._listener.getsockname()[1]
        self._first, self._then, self._close = first, then, close
        self.go_on = threading.Event()
        self.request = b""

    def run(self):
        with self._listener:
            raw, _ = self._listener.accept()
        with contextlib.suppress(OSError), self._tls.wrap_socket(raw, server_side=True) as connection:
            while b"\r\n\r\n" not in self.request:
                self.request += connection.recv(4096)
            for piece in self._first:
                connection.sendall(piece)
            self.go_on.wait(30)
            for piece in self._then:
                connection.sendall(piece)
            if not self._close:
                connection.recv(1)


class ClientTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory(prefix="berth-bench-test-")
        build = pathlib.Path(os.environ.get("BERTH_BUILD") or ROOT / "build" / "release")
        cls.context = Context(True, pathlib.Path(cls.folder.name), build, None)

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def watch(self, then, first=(FIRST,), count=3, close=False):
        """The client's report of a burst of `count`, when the server sends the pieces `then`."""
        server = FaultyServer(self.context.certs, first, then, close)
        server.start()
        with measure._watchers(self.context, server.port, 1) as client:
            client.send(f"await {count}")
            self.assertEqual(client.receive()["event"], "awaiting")
            server.go_on.set()
            done = measure._expect(client, "done")
        self.assertIn(b"\r\nX-Remote-User: bench\r\n", server.request)
        return done

    def refuse(self, message, *arguments, **options):
        with self.assertRaisesRegex(BenchError, message):
            self.watch(*arguments, **options)

    def test_events_in_order(self):
        done = self.watch([chunk(event(8) + event(9)), chunk(event(10))])
        self.assertEqual((done["lines"], done["bytes"]), (3, sum(len(event(n)) for n in (8, 9, 10))))

    def test_bytes_split_anywhere(self):
        stream = chunk(event(8) + event(9)[:11]) + chunk(event(9)[11:]) + chunk(event(10))
        one_by_one = [stream[i:i + 1] for i in range(len(stream))]
        self.assertEqual(self.watch(one_by_one, first=[FIRST[i:i + 1] for i in range(len(FIRST))])["lines"], 3)

    def test_bookmarks_are_no_events(self):
        self.watch([chunk(event(8)), chunk(event(8, "BOOKMARK")), chunk(event(9) + event(10))])

    def test_gap(self):
        self.refuse("gap: 8 then 10", [chunk(event(8) + event(10))])

    def test_duplicate(self):
        self.refuse("duplicate or out of order: 8 then 8", [chunk(event(8) + event(8, version=9))])

    def test_version_that_does_not_grow(self):
        self.refuse("resourceVersion did not grow", [chunk(event(8, version=7))])

    def test_more_than_published(self):
        self.refuse("more events than were published", [chunk(b"".join(event(n) for n in range(8, 12)))])

    def test_error_event(self):
        self.refuse("unexpected event type", [chunk(event(8, "ERROR"))])

    def test_connection_closed_early(self):
        self.refuse("watcher lost: the server closed", [chunk(event(8))], close=True)

    def test_watch_ended_early(self):
        self.refuse("watcher lost: the server ended the watch", [chunk(event(8)), b"0\r\n\r\n"])

    def test_bad_chunk_size(self):
        self.refuse("bad chunk size", [b"-5\r\nhello\r\n"])

    def test_chunk_without_its_end(self):
        self.refuse("no CRLF after a chunk", [chunk(event(8))[:-2] + b"xx"])

    def test_other_status(self):
        self.refuse("not 200", [], first=[b"HTTP/1.1 403 Forbidden\r\nContent-Length: 2\r\n\r\n{}"])

    def test_not_chunked(self):
        self.refuse("not chunked", [], first=[b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\n{}"])


if __name__ == "__main__":
    unittest.main()
