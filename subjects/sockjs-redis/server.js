// SockJS-node behind Redis, as its documentation shows it: the relay subscribes, and a publication in a channel goes to
// all clients that have joined the room of that name.
"use strict";

const http = require("http");
const { createClient } = require("redis");
const sockjs = require("sockjs");
const { host, port, backlog, ready } = require("./node/server.js");
const { startRedis, startPublisher } = require("./php-redis/php-redis.js");

const TRANSPORTS = ["", "+xhr", "+xhr-streaming", "+eventsource", "+htmlfile", "+jsonp"];

/** The connections of each room. */
const rooms = new Map();

function join(connection, room) {
  const members = rooms.get(room) ?? new Set();
  rooms.set(room, members.add(connection));
  connection.on("close", () => members.delete(connection));
}

async function main() {
  const redis = await startRedis();
  const subscribed = createClient({ socket: { host, port: redis } });
  // Redis may end first when all programs are asked to end.
  subscribed.on("error", (error) => console.error(error.message));
  await subscribed.connect();
  await subscribed.pSubscribe("room-*", (text, room) => {
    for (const member of rooms.get(room) ?? []) member.write(text);
  });

  const relay = sockjs.createServer({ log() {} });
  relay.on("connection", (connection) => {
    connection.on("data", (room) => {
      connection.write(`joined ${room}`);
      join(connection, room);
    });
  });
  const application = await startPublisher(redis);
  const server = http.createServer();
  relay.installHandlers(server, { prefix: "/rooms" });
  server.listen({ host, port, backlog }, () => {
    ready("tcp", application);
    TRANSPORTS.forEach((transport) => ready(`sockjs${transport}`, server.address().port, "/rooms"));
  });
}

main();
