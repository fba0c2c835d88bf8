"""WebSocket echo with socketify: uWebSockets, its handlers in Python.

No HTTP: socketify 0.0.31 crashes where it reads a request's body ("ffi.from_handle() detected that the address passed
points to garbage").
"""

import os
import signal
import threading

from python import server
from socketify import App, AppListenOptions, CompressOptions, OpCode


def echo(socket, message, opcode):
    server.work()
    if server.REPLY is not None:
        message = server.REPLY
    # Text arrives as str and binary data as bytes; send takes both.
    socket.send(message, opcode)


def end_on_signal():
    signal.sigwait([signal.SIGTERM])
    os._exit(0)


# Its loop is in native code, where Python's own signal handlers do not run.
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
threading.Thread(target=end_on_signal, daemon=True).start()

app = App()
app.ws(
    "/*",
    {
        "compression": CompressOptions.DISABLED,
        "max_payload_length": server.MESSAGE_MAX,
        "max_backpressure": server.MESSAGE_MAX,
        "message": echo,
    },
)
app.listen(AppListenOptions(port=server.PORT, host=server.HOST), lambda options: server.ready("ws", options.port))
app.run()
