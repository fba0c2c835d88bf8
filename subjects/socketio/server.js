// An echo by Socket.IO: every event `message` is answered by one.
"use strict";

const http = require("http");
const { Server } = require("socket.io");
const { host, port, reply, backlog, messageMax, ready } = require("./node/server.js");

const server = http.createServer();
new Server(server, { maxHttpBufferSize: messageMax }).on("connection", (socket) => {
  socket.on("message", (message) => socket.emit("message", reply ?? message));
});
server.listen({ host, port, backlog }, () => ready("socketio", server.address().port));
