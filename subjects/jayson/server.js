// JSON-RPC 2.0 by jayson, over WebSocket and as lines over TCP: `echo` returns its parameters, `tenth` refuses every
// tenth id of a connection.
"use strict";

const http = require("http");
const jayson = require("jayson");
const { host, port, backlog, messageMax, ready } = require("./node/server.js");

const server = new jayson.Server({
  echo: (parameters, done) => done(null, parameters),
  tenth: ([id], done) => (id % 10 === 9 ? done({ code: -32000, message: "every tenth is refused" }) : done(null, id)),
});
const web = http.createServer();
server.websocket({ server: web, maxPayload: messageMax });
web.listen({ host, port, backlog }, () => ready("ws", web.address().port));
const lines = server.tcp();
lines.listen({ host, port: 0, backlog }, () => ready("tcp", lines.address().port, ""));
