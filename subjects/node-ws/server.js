// WebSocket echo with npm `ws`. WIREBENCH_DEFLATE, the options of `ws` as JSON, enables compression.
"use strict";

const http = require("http");
const https = require("https");
const { WebSocketServer } = require("ws");
const { host, port, reply, backlog, messageMax, tls, work, ready } = require("./node/server.js");

const perMessageDeflate = JSON.parse(process.env.WIREBENCH_DEFLATE || "false");

function serve(scheme, server, port) {
  new WebSocketServer({ server, perMessageDeflate, maxPayload: messageMax }).on("connection", (socket) => {
    socket.on("message", (data, isBinary) => {
      work();
      socket.send(reply ?? data, { binary: isBinary });
    });
    socket.on("error", () => socket.terminate());
  });
  server.listen({ host, port, backlog }, () => ready(scheme, server.address().port));
}

serve("ws", http.createServer(), port);
if (tls) serve("wss", https.createServer(tls), 0);
