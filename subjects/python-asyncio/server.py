"""A TCP echo on asyncio streams. Replace it with the library to measure."""

import asyncio
import os
import signal
import time

HOST = os.environ["WIREBENCH_HOST"]
PORT = int(os.environ["WIREBENCH_PORT"])
BACKLOG = int(os.environ["WIREBENCH_BACKLOG"])
REPLY = os.environ.get("WIREBENCH_REPLY", "").encode()
# How long the processor is kept busy for each message.
WORK_NS = int(os.environ.get("WIREBENCH_WORK_NS", "0"))


async def echo(reader, writer):
    owed = 0
    try:
        while data := await reader.read(65536):
            end = time.perf_counter_ns() + WORK_NS
            while WORK_NS and time.perf_counter_ns() < end:
                pass
            if REPLY:
                # A message has as many bytes as the reply.
                count, owed = divmod(owed + len(data), len(REPLY))
                data = REPLY * count
            writer.write(data)
            await writer.drain()
    except ConnectionError:
        pass  # a client that leaves abruptly is gone all the same
    finally:
        writer.close()


async def main():
    stop = asyncio.Event()
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, stop.set)
    server = await asyncio.start_server(echo, HOST, PORT, backlog=BACKLOG)
    port = server.sockets[0].getsockname()[1]
    print(f"ready tcp://{HOST}:{port}", flush=True)
    await stop.wait()


asyncio.run(main())
