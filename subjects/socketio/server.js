// An echo by Socket.IO: every event `message` is answered by one, text by text and bytes by bytes. `echo` acknowledges
// with what was sent, `tenth` refuses every tenth id of a connection, and `say` sends to all who are connected. A
// publication in a room goes to all who have joined it. The namespace `/other` does the same. Below `/recovery` is a
// second server, which keeps what disconnected clients miss for two minutes.
"use strict";

const http = require("http");
const { Server } = require("socket.io");
const { host, port, reply, backlog, messageMax, ready } = require("./node/server.js");

/** A fixed reply is text or bytes, like the message that it answers. */
const answer = (message) => (reply === undefined ? message : Buffer.isBuffer(message) ? Buffer.from(reply) : reply);

const server = http.createServer();
const io = new Server(server, { maxHttpBufferSize: messageMax });
const recovering = new Server(server, {
  path: "/recovery/socket.io",
  maxHttpBufferSize: messageMax,
  connectionStateRecovery: { maxDisconnectionDuration: 120000 },
});
const greet = (space) => space.on("connection", (socket) => {
  socket.on("message", (message) => socket.emit("message", answer(message)));
  socket.on("echo", (text, acknowledge) => acknowledge(text));
  socket.on("tenth", (id, acknowledge) => acknowledge(id % 10 === 9 ? { error: "every tenth is refused" } : { id }));
  socket.on("say", (said, acknowledge) => {
    space.emit("said", said);
    acknowledge("said");
  });
  socket.on("join", (room, acknowledge) => {
    socket.join(room);
    acknowledge("joined");
  });
  socket.on("publish", (room, text, acknowledge) => {
    space.to(room).emit("published", text);
    acknowledge("published");
  });
});
greet(io);
greet(io.of("/other"));
greet(recovering);
server.listen({ host, port, backlog }, () => {
  ready("socketio", server.address().port);
  ready("socketio+polling", server.address().port);
  ready("socketio+upgrade", server.address().port);
  ready("ws", server.address().port, "/socket.io/?EIO=4&transport=websocket");
});
