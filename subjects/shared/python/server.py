"""The settings of a server subject from its environment, and its reports that it is ready; docs/SUBJECTS.md."""

import os
import time

HOST = os.environ.get("WIREBENCH_HOST", "127.0.0.1")
PORT = int(os.environ.get("WIREBENCH_PORT", "0"))
# The reply to every message; None: an echo.
REPLY = os.environ.get("WIREBENCH_REPLY")
BACKLOG = int(os.environ.get("WIREBENCH_BACKLOG", "4096"))
MESSAGE_MAX = int(os.environ.get("WIREBENCH_MESSAGE_MAX", str(16 << 20)))
WORK_NS = int(os.environ.get("WIREBENCH_WORK_NS", "0"))
# PEM files; None: no TLS.
TLS_CERT = os.environ.get("WIREBENCH_TLS_CERT")
TLS_KEY = os.environ.get("WIREBENCH_TLS_KEY")


def work():
    """Keeps the processor busy for the time that a message is to cost, before it is answered."""
    end = time.perf_counter_ns() + WORK_NS
    while WORK_NS and time.perf_counter_ns() < end:
        pass


def ready(scheme, port, path="/"):
    """Says that `scheme` is served on `port`."""
    print(f"ready {scheme}://{HOST}:{port}{path}", flush=True)
