"""WebSocket echo with SimpleWebSocketServer, by its own example, `SimpleEcho`."""

import os
import signal
import socket
import ssl
import threading
import traceback

from python import server
from SimpleWebSocketServer import SimpleSSLWebSocketServer, SimpleWebSocketServer, WebSocket


class Echo(WebSocket):
    def handleMessage(self):
        self.sendMessage(reply_to(self.data))


def reply_to(message):
    if server.REPLY is None:
        return message
    return server.REPLY if isinstance(message, str) else server.REPLY.encode()


def serve(scheme, listening):
    # Its own backlog is 5, and connections beyond that are lost. Accepted sockets inherit the other option.
    listening.serversocket.listen(server.BACKLOG)
    listening.serversocket.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
    threading.Thread(target=work, args=[listening], daemon=True).start()
    server.ready(scheme, listening.serversocket.getsockname()[1])


def work(listening):
    try:
        listening.serveforever()
    except Exception:
        # With the 1025th descriptor, select() ends it.
        traceback.print_exc()
        os._exit(1)


# Before the first thread starts: threads inherit the mask and leave the signal to this one.
signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGTERM])
serve("ws", SimpleWebSocketServer(server.HOST, server.PORT, Echo))
if server.TLS_CERT:
    # TLS 1.2 and 1.3; the version of its example, TLS 1.0, is refused by OpenSSL 3.
    tls = ssl.PROTOCOL_TLS_SERVER
    secure = SimpleSSLWebSocketServer(server.HOST, 0, Echo, server.TLS_CERT, server.TLS_KEY, version=tls)
    serve("wss", secure)
signal.sigwait([signal.SIGTERM])
os._exit(0)
