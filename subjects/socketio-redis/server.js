// Socket.IO behind Redis: an application in PHP publishes, Redis carries it, and a publication in a room goes to all
// who have joined it. Every event `message` is answered by one, text by text and bytes by bytes, as by a Socket.IO echo
// server.
"use strict";

const http = require("http");
const { createAdapter } = require("@socket.io/redis-adapter");
const { createClient } = require("redis");
const { Server } = require("socket.io");
const { host, port, reply, backlog, messageMax, ready } = require("./node/server.js");
const { startRedis, startPublisher } = require("./php-redis/php-redis.js");

/** A fixed reply is text or bytes, like the message that it answers. */
const answer = (message) => (reply === undefined ? message : Buffer.isBuffer(message) ? Buffer.from(reply) : reply);

async function main() {
  const redis = await startRedis();
  const publishing = createClient({ socket: { host, port: redis } });
  const subscribed = publishing.duplicate();
  // Redis may end first when all programs are asked to end.
  for (const client of [publishing, subscribed]) client.on("error", (error) => console.error(error.message));
  await Promise.all([publishing.connect(), subscribed.connect()]);

  const server = http.createServer();
  const io = new Server(server, { adapter: createAdapter(publishing, subscribed), maxHttpBufferSize: messageMax });
  io.on("connection", (socket) => {
    socket.on("message", (message) => socket.emit("message", answer(message)));
    socket.on("join", (room, acknowledge) => {
      socket.join(room);
      acknowledge("joined");
    });
  });
  const application = await startPublisher(redis, ["msgpack"]);
  server.listen({ host, port, backlog }, () => {
    ready("tcp", application);
    ready("socketio", server.address().port);
    ready("socketio+polling", server.address().port);
    ready("socketio+upgrade", server.address().port);
  });
}

main();
