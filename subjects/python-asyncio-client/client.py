"""A TCP client on asyncio streams. Replace `Connection` with the library to measure."""

import asyncio
import os
import platform
import sys
import time
from urllib.parse import urlsplit

URL = urlsplit(os.environ["WIREBENCH_URL"])
CONNECTIONS = int(os.environ["WIREBENCH_CONNECTIONS"])
LIFE = os.environ["WIREBENCH_LIFE"]
ROUND_TRIPS = None if LIFE == "long" else int(LIFE)
with open(os.environ["WIREBENCH_PAYLOAD"], "rb") as file:
    PAYLOAD = file.read()
with open(os.environ["WIREBENCH_EXPECT"], "rb") as file:
    EXPECT = file.read()
now = time.perf_counter_ns


class Connection:
    """The part to measure: how the library connects, sends, receives and closes."""

    async def open(self):
        self.reader, self.writer = await asyncio.open_connection(URL.hostname, URL.port)

    async def round_trip(self):
        self.writer.write(PAYLOAD)
        return await self.reader.readexactly(len(EXPECT))

    async def close(self):
        self.writer.close()
        await self.writer.wait_closed()


class Block:
    """One `run`: a warm-up, a window, and its results."""

    def __init__(self, command):
        values = dict(word.split("=") for word in command.split()[1:])
        self.warm_up_ns = int(values.get("warm_up_ns", 0))
        self.time_ns = int(values["time_ns"]) if "time_ns" in values else None
        self.messages = int(values["messages"]) if "messages" in values else None
        self.clients = int(values["clients"]) if "clients" in values else None
        self.measures = self.is_over = False
        self.times = {"round_trip_ns": [], "life_ns": [], "connect_ns": [], "close_ns": []}
        self.errors = {}

    async def run(self):
        if self.warm_up_ns == 0:
            self.begin()
        workers = asyncio.gather(*(self.work() for _ in range(CONNECTIONS)))
        if self.warm_up_ns:
            await asyncio.wait([workers], timeout=self.warm_up_ns / 1e9)
            self.begin()
        # The window ends after its time if it has one, else with the last message or client.
        await asyncio.wait([workers], timeout=self.time_ns / 1e9 if self.time_ns else None)
        if not self.is_over:
            self.end()
        await workers
        self.tell()

    def begin(self):
        print("measuring", flush=True)
        self.cpu, self.start, self.measures = time.process_time_ns(), now(), True

    def end(self):
        self.wall, self.cpu = now() - self.start, time.process_time_ns() - self.cpu
        self.measures, self.is_over = False, True
        print("measured", flush=True)

    async def work(self):
        while not self.is_over:
            if self.clients is not None:
                if self.clients == 0:
                    return
                self.clients -= 1
            try:
                await self.live()
            except (OSError, EOFError, ValueError) as error:
                words = str(error) or type(error).__name__
                self.errors[words] = self.errors.get(words, 0) + 1
                await asyncio.sleep(0.01)
            if ROUND_TRIPS is None:
                return

    async def live(self):
        is_measured, start = self.measures, now()
        connection = Connection()
        await connection.open()
        self.times["connect_ns"].append(now() - start)
        done = 0
        while not self.is_over and done != ROUND_TRIPS:
            if self.measures and self.messages is not None:
                if self.messages == 0:
                    break
                self.messages -= 1
            counts, sent = self.measures, now()
            if await connection.round_trip() != EXPECT:
                raise ValueError("a wrong reply")
            done += 1
            if counts and self.measures:
                self.times["round_trip_ns"].append(now() - sent)
        if is_measured and self.measures and done == ROUND_TRIPS:
            self.times["life_ns"].append(now() - start)
        start = now()
        await connection.close()
        self.times["close_ns"].append(now() - start)

    def tell(self):
        print("wall_ns", self.wall)
        print("cpu_ns", self.cpu)
        print("ok", len(self.times["round_trip_ns"]))
        for words, count in self.errors.items():
            print("error", count, words)
        for name, times in self.times.items():
            for at in range(0, len(times), 1000):
                print(name, *times[at : at + 1000])
        print("done", flush=True)


print("ready asyncio", platform.python_version(), flush=True)
for line in sys.stdin:
    asyncio.run(Block(line).run())
