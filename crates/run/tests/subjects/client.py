# A client over TCP, one connection and one message in flight. What it says can be changed by LIE.
import os, socket, sys, time
from urllib.parse import urlsplit

url = urlsplit(os.environ["WIREBENCH_URL"])
payload = open(os.environ["WIREBENCH_PAYLOAD"], "rb").read()
expect = open(os.environ["WIREBENCH_EXPECT"], "rb").read()
with open("pids", "a") as pids:
    print(os.getpid(), file=pids)
LIE = lambda said: said
DIES = False


def round_trip(connection):
    began = time.monotonic_ns()
    connection.sendall(payload)
    got = b""
    while len(got) < len(expect):
        more = connection.recv(1 << 16)
        if not more:
            break
        got += more
    return time.monotonic_ns() - began, got == expect


print("ready script 1.0", flush=True)
for line in sys.stdin:
    wanted = dict(word.split("=") for word in line.split()[1:])
    began = time.monotonic_ns()
    connection = socket.create_connection((url.hostname, url.port))
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    connected = time.monotonic_ns() - began
    print("measuring", flush=True)
    if DIES:
        os.write(2, b"cannot go on\n")
        sys.exit(5)
    began, cpu = time.monotonic_ns(), time.process_time_ns()
    messages, until = int(wanted.get("messages", 1 << 62)), began + int(wanted.get("time_ns", 1 << 62))
    times, wrong = [], 0
    while len(times) + wrong < messages and time.monotonic_ns() < until:
        took, right = round_trip(connection)
        times.append(took) if right else (wrong := wrong + 1)
    wall, used = time.monotonic_ns() - began, time.process_time_ns() - cpu
    print("measured", flush=True)
    connection.close()
    said = {"wall_ns": [wall], "cpu_ns": [used], "ok": [len(times)], "round_trip_ns": times, "connect_ns": [connected]}
    if wrong:
        said["error"] = [wrong, "wrong reply"]
    for name, values in LIE(said).items():
        print(name, *values)
    print("done", flush=True)
