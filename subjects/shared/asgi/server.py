"""Serves an application of ASGI with uvicorn, one process, and reports when it is ready; docs/SUBJECTS.md."""

import socket

import uvicorn
from python import server


class Server(uvicorn.Server):
    def __init__(self, app, services):
        super().__init__(uvicorn.Config(app, log_level="warning", access_log=False, ws_max_size=server.MESSAGE_MAX))
        self.services = services

    async def startup(self, sockets=None):
        await super().startup(sockets)
        port = sockets[0].getsockname()[1]
        for scheme, path in self.services:
            server.ready(scheme, port, path)


def serve(app, services):
    """Serves `app` until it is asked to end; `services` are pairs of a scheme and a path."""
    with socket.socket() as listener:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((server.HOST, server.PORT))
        listener.listen(server.BACKLOG)
        Server(app, services).run(sockets=[listener])
