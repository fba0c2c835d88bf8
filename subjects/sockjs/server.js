// An echo by SockJS-node: framed below /echo over each transport, and raw WebSocket on /echo/websocket.
"use strict";

const http = require("http");
const sockjs = require("sockjs");
const { host, port, reply, backlog, ready } = require("./node/server.js");

const echo = sockjs.createServer({ log() {} });
echo.on("connection", (connection) => {
  connection.on("data", (message) => connection.write(reply ?? message));
});

const server = http.createServer();
echo.installHandlers(server, { prefix: "/echo" });
server.listen({ host, port, backlog }, () => {
  ready("ws", server.address().port, "/echo/websocket");
  for (const transport of ["", "+xhr", "+xhr-streaming", "+eventsource", "+htmlfile", "+jsonp"]) {
    ready(`sockjs${transport}`, server.address().port, "/echo");
  }
});
