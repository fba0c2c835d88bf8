# An echo over TCP, or a fixed reply. In its folder it writes the number of its process, a line for each start.
import os, socket, threading

listener = socket.create_server((os.environ["WIREBENCH_HOST"], 0), backlog=64)
with open("pids", "a") as pids:
    print(os.getpid(), file=pids)
reply = os.environ.get("WIREBENCH_REPLY", "").encode()
DIES_AFTER = None
CHANGES = lambda data: data
served = 0


def serve(connection):
    global served
    with connection:
        while data := connection.recv(1 << 16):
            served += 1
            if DIES_AFTER is not None and served > DIES_AFTER:
                os.write(2, b"out of luck\n")
                os._exit(3)
            answer = (reply * (len(data) // len(reply) + 1))[: len(data)] if reply else data
            connection.sendall(CHANGES(answer))


print("ready tcp://127.0.0.1:%d" % listener.getsockname()[1], flush=True)
while True:
    connection, _ = listener.accept()
    connection.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=serve, args=(connection,), daemon=True).start()
