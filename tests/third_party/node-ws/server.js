// WebSocket echo with npm `ws`. Prints `ready 127.0.0.1:PORT` once it listens and ends on SIGTERM. With
// PER_MESSAGE_DEFLATE in the environment, the options of `ws` as JSON, it agrees to compression.
"use strict";

const { WebSocketServer } = require("ws");

const perMessageDeflate = JSON.parse(process.env.PER_MESSAGE_DEFLATE || "false");
const server = new WebSocketServer({ host: "127.0.0.1", port: 0, backlog: 4096, perMessageDeflate });
server.on("listening", () => console.log(`ready 127.0.0.1:${server.address().port}`));
server.on("connection", (socket) => {
  socket.on("message", (data, isBinary) => socket.send(data, { binary: isBinary }));
  socket.on("error", () => socket.terminate());
});

process.on("SIGTERM", () => process.exit(0));
