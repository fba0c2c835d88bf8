// Redis, and an application in PHP that publishes through it.
"use strict";

const path = require("path");
const { host, backlog } = require("../node/server.js");
const { start, freePort, listens } = require("../node/programs.js");

/** Extensions of PHP that have to be there before others. */
const EXTENSIONS = ["igbinary", "redis"];
const folder = (name) => path.resolve("package/usr", name);

/** Runs a program, and restarts it whenever SIGKILL has ended it. Ends it on SIGTERM. */
const AGAIN = `
  trap 'kill $!; wait; exit' TERM
  while :; do
    "$@" & wait $!
    code=$?
    [ $code = 137 ] || exit $code
  done`;

/** Starts Redis, which is restarted on its port whenever it is killed. Returns that port. */
async function startRedis() {
  const port = await freePort();
  const settings = { bind: host, port, "tcp-backlog": backlog, save: "", appendonly: "no" };
  const options = Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]);
  start("sh", ["-c", AGAIN, "redis", folder("bin/redis-server"), ...options]);
  await listens(port);
  return port;
}

/** Starts the application. Returns its port once the relay hears Redis. */
function startPublisher(redis, extensions = []) {
  const all = [...EXTENSIONS, ...extensions];
  const options = all.flatMap((name) => ["-d", `extension=${folder(`lib/php/20220829/${name}.so`)}`]);
  const args = ["-n", ...options, "php-redis/publisher.php", host, String(redis)];
  const publisher = start("php", args, { stdout: "pipe" });
  return new Promise((resolve) => publisher.stdout.once("data", (port) => resolve(Number(port))));
}

module.exports = { startRedis, startPublisher };
