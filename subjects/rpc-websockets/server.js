// JSON-RPC 2.0 by rpc-websockets: `echo` returns its parameters, `tenth` refuses every tenth id of a connection, and
// `say` notifies all who subscribed to `news`.
"use strict";

const { Server } = require("rpc-websockets");
const { host, port, backlog, messageMax, ready } = require("./node/server.js");

const server = new Server({ host, port, backlog, maxPayload: messageMax });
server.register("echo", (parameters) => parameters);
server.register("tenth", ([id]) => {
  if (id % 10 === 9) throw new Error("every tenth is refused");
  return id;
});
server.event("news");
server.register("say", ([at]) => {
  server.emit("news", at);
  return "said";
});
server.on("listening", () => ready("ws", server.wss.address().port));
