"""WebSocket echo with Python `websockets`. Prints `ready 127.0.0.1:PORT` once it listens and ends on SIGTERM."""

import asyncio
import signal

from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


async def echo(connection):
    try:
        async for message in connection:
            await connection.send(message)
    except ConnectionClosed:
        pass  # who leaves without a close handshake is gone all the same


async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    async with serve(echo, "127.0.0.1", 0, backlog=4096, compression=None, max_size=16 << 20) as server:
        print(f"ready 127.0.0.1:{server.sockets[0].getsockname()[1]}", flush=True)
        await stop.wait()


asyncio.run(main())
