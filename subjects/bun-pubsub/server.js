// Rooms of Bun.serve, whose engine is uWebSockets: a WebSocket subscribes to the room that its path names, and a POST
// to that path publishes there.
"use strict";

const { host, port, ready } = require("./node/server.js");

const server = Bun.serve({
  hostname: host,
  port,
  async fetch(request, server) {
    const room = new URL(request.url).pathname;
    if (server.upgrade(request, { data: room })) return undefined;
    if (request.method !== "POST") return new Response("POST is answered here, and WebSocket\n", { status: 405 });
    return new Response(`${server.publish(room, await request.text())}\n`);
  },
  websocket: {
    open: (socket) => socket.subscribe(socket.data),
    message() {},
  },
});
ready("http", server.port);
ready("ws", server.port);
