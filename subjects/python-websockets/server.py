"""WebSocket echo with Python `websockets`."""

import asyncio
import os
import signal
import ssl

from python import server
from websockets.asyncio.server import serve
from websockets.exceptions import ConnectionClosed


async def echo(connection):
    try:
        async for message in connection:
            server.work()
            await connection.send(reply_to(message))
    except ConnectionClosed:
        pass  # a client that leaves without a close handshake is gone all the same


def reply_to(message):
    if server.REPLY is None:
        return message
    return server.REPLY if isinstance(message, str) else server.REPLY.encode()


def listen(port, tls=None):
    options = {"backlog": server.BACKLOG, "compression": None, "max_size": server.MESSAGE_MAX, "ssl": tls}
    return serve(echo, server.HOST, port, **options)


async def main():
    # At once: closing thousands of connections one by one takes longer than the time to end.
    asyncio.get_running_loop().add_signal_handler(signal.SIGTERM, os._exit, 0)
    plain = await listen(server.PORT)
    server.ready("ws", plain.sockets[0].getsockname()[1])
    if server.TLS_CERT:
        tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        tls.load_cert_chain(server.TLS_CERT, server.TLS_KEY)
        secure = await listen(0, tls)
        server.ready("wss", secure.sockets[0].getsockname()[1])
    await plain.serve_forever()


asyncio.run(main())
