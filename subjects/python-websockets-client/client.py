"""WebSocket client with Python `websockets`, on asyncio."""

import asyncio
import importlib.metadata
import math
import os
import resource
import ssl
import sys
import time
from collections import Counter

from websockets.asyncio.client import connect
from websockets.exceptions import ConnectionClosed
from websockets.protocol import State


class Settings:
    """The settings from the environment; docs/SUBJECTS.md."""

    def __init__(self, variables):
        self.url = variables["WIREBENCH_URL"]
        self.tls = None
        if self.url.startswith("wss:"):
            self.tls = ssl.create_default_context(cafile=variables.get("WIREBENCH_CA"))
        self.connections = int(variables.get("WIREBENCH_CONNECTIONS", "1"))
        self.payload = read(variables["WIREBENCH_PAYLOAD"])
        self.expect = read(variables["WIREBENCH_EXPECT"])
        if variables.get("WIREBENCH_KIND") == "text":
            self.payload, self.expect = self.payload.decode(), self.expect.decode()
        life = variables.get("WIREBENCH_LIFE", "long")
        # Round trips of a connection; None: as many as there are.
        self.life = None if life == "long" else int(life)


class Block:
    """One `run`: connections that each have one message in flight, and what they measure."""

    def __init__(self, settings, plan):
        self.settings = settings
        self.plan = plan
        self.times = {"round_trip_ns": [], "life_ns": [], "open_ns": [], "close_ns": []}
        self.errors = Counter()
        self.wall = self.cpu = 0

    async def run(self):
        connections = []
        if self.settings.life is None:
            opened = await asyncio.gather(*(self.open() for _ in range(self.settings.connections)))
            connections = [connection for connection in opened if connection is not None]
        if "clients" not in self.plan and self.plan.get("warm_up_ns", 0) > 0:
            await self.work(connections, {"time_ns": self.plan["warm_up_ns"]})
        for name in ("round_trip_ns", "life_ns") if self.settings.life is None else self.times:
            self.times[name] = []
        say("measuring")
        cpu = cpu_time()
        self.wall = await self.work(connections, self.plan)
        self.cpu = cpu_time() - cpu
        say("measured")
        await asyncio.gather(*(self.close(connection) for connection in connections))

    async def work(self, connections, part):
        """Keeps every place busy until `part` is over and nothing is in flight; returns how long that took."""
        began = time.perf_counter_ns()
        self.end = began + part.get("time_ns", math.inf)
        self.messages = part.get("messages", math.inf)
        self.clients = part.get("clients", math.inf)
        if self.settings.life is None:
            await asyncio.gather(*(self.talk(connection) for connection in connections))
        else:
            await asyncio.gather(*(self.live() for _ in range(self.settings.connections)))
        return time.perf_counter_ns() - began

    async def talk(self, connection):
        while self.messages > 0 and time.perf_counter_ns() < self.end:
            if not await self.round_trip(connection):
                break

    async def live(self):
        """One life after the other in this place; after a failure it stays empty."""
        while self.messages > 0 and self.clients > 0 and time.perf_counter_ns() < self.end:
            self.clients -= 1
            began = time.perf_counter_ns()
            connection = await self.open()
            if connection is None:
                return
            for left in reversed(range(self.settings.life)):
                if self.messages <= 0:
                    break
                if not await self.round_trip(connection):
                    return
                if left == 0:
                    self.times["life_ns"].append(time.perf_counter_ns() - began)
            await self.close(connection)

    async def open(self):
        settings = self.settings
        began = time.perf_counter_ns()
        options = {"compression": None, "max_size": None, "ssl": settings.tls, "proxy": None}
        try:
            connection = await connect(settings.url, **options)
        except Exception as error:
            self.errors[str(error)] += 1
            return None
        self.times["open_ns"].append(time.perf_counter_ns() - began)
        return connection

    async def round_trip(self, connection):
        """Returns false if the connection is lost."""
        settings = self.settings
        self.messages -= 1
        sent = time.perf_counter_ns()
        try:
            await connection.send(settings.payload)
            is_right = await connection.recv() == settings.expect
        except ConnectionClosed as error:
            self.errors[str(error)] += 1
            return False
        took = time.perf_counter_ns() - sent
        if is_right:
            self.times["round_trip_ns"].append(took)
        else:
            self.errors["wrong answer"] += 1
        return True

    async def close(self, connection):
        if connection.state is not State.OPEN:
            return  # it was lost already, and counted as lost
        began = time.perf_counter_ns()
        await connection.close()
        self.times["close_ns"].append(time.perf_counter_ns() - began)

    def print(self):
        print(f"wall_ns {self.wall}\ncpu_ns {self.cpu}\nok {len(self.times['round_trip_ns'])}")
        for words, count in self.errors.items():
            print("error", count, " ".join(words.split()))
        for name, times in self.times.items():
            for at in range(0, len(times), 1000):
                print(name, *times[at : at + 1000])
        print("done", flush=True)


def read(path):
    with open(path, "rb") as file:
        return file.read()


def say(word):
    print(word, flush=True)


def cpu_time():
    used = resource.getrusage(resource.RUSAGE_SELF)
    return int((used.ru_utime + used.ru_stime) * 1e9)


def main():
    settings = Settings(os.environ)
    say(f"ready websockets {importlib.metadata.version('websockets')}")
    for line in sys.stdin:
        command, *words = line.split()
        if command != "run":
            continue
        plan = {key: int(value) for key, value in (word.split("=") for word in words)}
        if "rate" in plan:
            say("unsupported a rate")
            continue
        block = Block(settings, plan)
        asyncio.run(block.run())
        block.print()


main()
