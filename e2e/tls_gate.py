#!/usr/bin/env python3
"""tls_gate.py PORT TARGET_PORT FLAG: passes bytes from 127.0.0.1:PORT to 127.0.0.1:TARGET_PORT.

While the file FLAG is there, no TLS handshake succeeds: open connections are closed, and new ones get bytes that are not TLS.
"""
import asyncio
import os
import sys

port, target, flag = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3]
connections = set()


async def pass_on(reader, writer):
    try:
        while data := await reader.read(65536):
            writer.write(data)
            await writer.drain()
    except OSError:
        pass
    finally:
        writer.close()


async def serve(reader, writer):
    if os.path.exists(flag):
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        writer.close()
        return
    to_read, to_write = await asyncio.open_connection("127.0.0.1", target)
    both = {writer, to_write}
    connections.update(both)
    await asyncio.gather(pass_on(reader, to_write), pass_on(to_read, writer))
    connections.difference_update(both)


async def break_open_connections():
    while True:
        if os.path.exists(flag):
            for writer in list(connections):
                writer.transport.abort()
        await asyncio.sleep(0.1)


async def main():
    server = await asyncio.start_server(serve, "127.0.0.1", port)
    print("ready", flush=True)
    await asyncio.gather(server.serve_forever(), break_open_connections())


asyncio.run(main())
