"""FastAPI: a login, a WebSocket that wants its token, items over HTTP, and streams of events by sse-starlette.

Every tenth id of a connection is refused if a request has one. All clients of a room receive what one of them says. A
POST to a room is an event for all who read the stream of that room.
"""

import asyncio
import secrets

from asgi import server
from fastapi import FastAPI, HTTPException, Request, WebSocket, WebSocketDisconnect
from pydantic import BaseModel
from sse_starlette import EventSourceResponse

app = FastAPI()
users = {}
rooms = {}
readers = {}


class Login(BaseModel):
    user: str
    password: str


class Item(BaseModel):
    id: int
    name: str


@app.post("/login")
async def login(asked: Login):
    if asked.password != f"secret of {asked.user}":
        raise HTTPException(401, "wrong password")
    token = secrets.token_urlsafe(16)
    users[token] = asked.user
    return {"token": token, "user": {"name": asked.user}}


@app.websocket("/ws")
async def talk(socket: WebSocket, token: str, room: str):
    user = users.pop(token, None)
    if user is None:
        # Before the WebSocket is accepted, this is a response with status 403.
        await socket.close()
        return
    await socket.accept()
    members = rooms.setdefault(room, set())
    members.add(socket)
    await socket.send_json({"type": "hello", "user": user, "members": len(members)})
    try:
        while True:
            message = await socket.receive_json()
            if message["type"] == "say":
                for member in list(members):
                    await member.send_json({"type": "heard", "from": user, "at": message["at"]})
                await socket.send_json({"type": "said", "id": message["id"]})
            else:
                refused = message["id"] % 10 == 9
                await socket.send_json({"type": "error" if refused else "done", "id": message["id"]})
    except WebSocketDisconnect:
        pass
    finally:
        members.discard(socket)


@app.get("/items/{number}")
async def read(number: int):
    return {"id": number, "name": f"item {number}"}


@app.post("/items", status_code=201)
async def create(item: Item):
    if item.id % 10 == 9:
        raise HTTPException(409, "every tenth is there already")
    return item


@app.get("/")
async def events():
    async def ten():
        for number in range(10):
            yield {"event": "news", "id": str(number), "data": f"news {number}"}

    return EventSourceResponse(ten())


@app.get("/events")
async def listen(room: str):
    queue = asyncio.Queue()

    async def published():
        of_room = readers.setdefault(room, set())
        of_room.add(queue)
        try:
            while True:
                yield {"data": await queue.get()}
        finally:
            of_room.discard(queue)

    return EventSourceResponse(published())


@app.post("/publish")
async def publish(room: str, request: Request):
    text = (await request.body()).decode()
    for queue in readers.get(room, ()):
        queue.put_nowait(text)
    return {"readers": len(readers.get(room, ()))}


server.serve(app, [("http", "/"), ("ws", "/")])
