// MQTT by aedes, over TCP and over WebSocket. It refuses every tenth of the topics `tenth/N`; a subscription to any
// other of them becomes one to `tenth`, so that a connection has one subscription however many it asks for.
"use strict";

const http = require("http");
const net = require("net");
const { Aedes } = require("aedes");
const { WebSocketServer, createWebSocketStream } = require("ws");
const { host, port, backlog, messageMax, ready } = require("./node/server.js");

function authorizeSubscribe(client, subscription, done) {
  const [name, number] = subscription.topic.split("/");
  if (name !== "tenth") return done(null, subscription);
  done(null, number % 10 === 9 ? null : { ...subscription, topic: name });
}

async function main() {
  const broker = await Aedes.createBroker({ authorizeSubscribe });
  const plain = net.createServer({ noDelay: true }, broker.handle);
  plain.listen({ host, port, backlog }, () => ready("tcp", plain.address().port, ""));
  const web = http.createServer();
  const sockets = new WebSocketServer({ server: web, maxPayload: messageMax, handleProtocols: () => "mqtt" });
  sockets.on("connection", (socket, request) => broker.handle(createWebSocketStream(socket), request));
  web.listen({ host, port: 0, backlog }, () => ready("ws", web.address().port, "/mqtt"));
}

main();
