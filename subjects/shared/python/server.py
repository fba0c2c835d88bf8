"""What a server subject is told by its environment, and how it says that it stands; docs/SUBJECTS.md."""

import os
import time

HOST = os.environ.get("WIREBENCH_HOST", "127.0.0.1")
PORT = int(os.environ.get("WIREBENCH_PORT", "0"))
# What every message is answered by; None: by itself.
REPLY = os.environ.get("WIREBENCH_REPLY")
BACKLOG = int(os.environ.get("WIREBENCH_BACKLOG", "4096"))
MESSAGE_MAX = int(os.environ.get("WIREBENCH_MESSAGE_MAX", str(16 << 20)))
WORK_NS = int(os.environ.get("WIREBENCH_WORK_NS", "0"))
# PEM files; None: nobody asked for TLS.
TLS_CERT = os.environ.get("WIREBENCH_TLS_CERT")
TLS_KEY = os.environ.get("WIREBENCH_TLS_KEY")


def work():
    """Keeps the processor busy for as long as a message is to cost, before it is answered."""
    end = time.perf_counter_ns() + WORK_NS
    while WORK_NS and time.perf_counter_ns() < end:
        pass


def ready(scheme, port, path="/"):
    """Says that `scheme` is served on `port`."""
    print(f"ready {scheme}://{HOST}:{port}{path}", flush=True)
