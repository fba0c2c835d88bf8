// The relay that Cargomedia drew: an application in PHP publishes, Redis carries it, socket-redis pushes it over SockJS.
"use strict";

const path = require("path");
const { host, ready } = require("./node/server.js");
const { start, freePort, listens } = require("./node/programs.js");
const { startRedis, startPublisher } = require("./php-redis/php-redis.js");

const FALLBACKS = ["xhr", "xhr-streaming", "eventsource", "htmlfile", "jsonp"];

async function main() {
  const redis = await startRedis();
  const [relay, status] = [await freePort(), await freePort()];
  const options = [`--redis-host=${host}`, `--redis-port=${redis}`, `--socket-ports=${relay}`, `--status-port=${status}`];
  const program = require.resolve("socket-redis/bin/socket-redis.js");
  start(process.execPath, ["-r", path.join(__dirname, "loopback.js"), program, ...options]);
  await listens(relay);

  ready("tcp", await startPublisher(redis));
  ready("ws", relay, "/websocket");
  ready("sockjs", relay);
  FALLBACKS.forEach((transport) => ready(`sockjs+${transport}`, relay));
}

main();
