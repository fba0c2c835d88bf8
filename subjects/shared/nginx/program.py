"""Starts nginx on free ports of loopback and says which.

nginx cannot bind port 0, so ports are chosen here, and reserved by sockets that are bound to them and never listen (all
of them set SO_REUSEPORT). nginx cannot report that it listens either: a child waits until it does. This process then
becomes nginx.
"""

import os
import pathlib
import resource
import shutil
import socket
import subprocess
import sys
import time

HERE = pathlib.Path(__file__).resolve().parent.parent
HOST = os.environ.get("WIREBENCH_HOST", "127.0.0.1")


def find():
    """The program: the one unpacked here, or that of this machine."""
    unpacked = HERE / "package/usr/sbin/nginx"
    program = unpacked if unpacked.exists() else shutil.which("nginx", path=os.environ["PATH"] + ":/usr/sbin")
    if program is None:
        sys.exit("nginx is neither unpacked here nor on the path")
    return program


def version():
    said = subprocess.run([find(), "-v"], capture_output=True, text=True, check=True).stderr
    return said.strip().rpartition("/")[2]


def hold(port):
    """A port that stays reserved: its socket is left open."""
    held = socket.socket()
    held.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEPORT, 1)
    held.bind((HOST, port))
    held.set_inheritable(True)
    port = held.getsockname()[1]
    held.detach()
    return port


def become(ports, values):
    """Becomes nginx; `ports` are those of its schemes, and `values` replace the names between @ in its settings."""
    config = write_config({"HOST": HOST, **values}, min(ports.values()))
    allow_open_files()
    if os.fork() == 0:
        say_ready(ports)
        os._exit(0)
    program = find()
    os.execv(program, [program, "-p", HERE / "run", "-c", config])


def write_config(values, name):
    text = (HERE / "nginx.conf.template").read_text()
    for key, value in values.items():
        text = text.replace(f"@{key}@", str(value))
    folder = HERE / "run"
    folder.mkdir(exist_ok=True)
    config = folder / f"{name}.conf"
    config.write_text(text)
    return config


def allow_open_files():
    hard = resource.getrlimit(resource.RLIMIT_NOFILE)[1]
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, 65536) if hard != resource.RLIM_INFINITY else 65536, hard))


def say_ready(ports):
    for scheme, port in ports.items():
        wait_for(port)
        print(f"ready {scheme}://{HOST}:{port}/", flush=True)


def wait_for(port):
    for _ in range(1000):
        try:
            return socket.create_connection((HOST, port)).close()
        except ConnectionRefusedError:
            time.sleep(0.01)
    sys.exit(f"nothing listens on {port}")
