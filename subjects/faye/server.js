// A Bayeux server by Faye: clients subscribe over WebSocket, and publications arrive by POST.
"use strict";

const http = require("http");
const faye = require("faye");
const { host, port, backlog, ready } = require("./node/server.js");

const server = http.createServer();
new faye.NodeAdapter({ mount: "/faye", timeout: 25 }).attach(server);
server.listen({ host, port, backlog }, () => {
  ready("http", server.address().port, "/faye");
  ready("ws", server.address().port, "/faye");
});
