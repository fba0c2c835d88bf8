// The relay that Cargomedia drew: an application in PHP publishes, Redis carries it, socket-redis pushes it over SockJS.
//
// Redis and socket-redis choose no port by themselves, so that free ones are chosen here, and let go just before.
"use strict";

const { spawn } = require("child_process");
const net = require("net");
const path = require("path");
const { host, backlog, ready } = require("./node/server.js");

const STDERR = 2;
const SIGNAL_MOMENT_MS = 1000;
const FALLBACKS = ["xhr", "xhr-streaming", "eventsource", "htmlfile", "jsonp"];
const folder = (name) => path.join(__dirname, "package/usr", name);

/** What was started, the last first. */
const programs = [];

/** True once this program is asked to end. */
let isEnding = false;

function start(program, args, stdout = STDERR) {
  const child = spawn(program, args, { cwd: __dirname, stdio: ["ignore", stdout, STDERR] });
  child.on("exit", (code, signal) => {
    // A signal to all of them may reach this one first: then ours is on its way.
    setTimeout(() => {
      if (isEnding) return;
      console.error(`${program} has ended: ${signal ?? code}`);
      process.exit(1);
    }, SIGNAL_MOMENT_MS);
  });
  programs.unshift(child);
  return child;
}

const freePort = () =>
  new Promise((resolve) => {
    const chosen = net.createServer().listen({ host, port: 0 }, () => {
      const { port } = chosen.address();
      chosen.close(() => resolve(port));
    });
  });

/** Waits until something listens. */
async function listens(port) {
  for (;;) {
    const socket = net.connect(port, host);
    const connected = await new Promise((resolve) => {
      socket.on("connect", () => resolve(true));
      socket.on("error", () => resolve(false));
    });
    socket.destroy();
    if (connected) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

async function main() {
  const [redis, relay, status] = [await freePort(), await freePort(), await freePort()];
  const settings = { bind: host, port: redis, "tcp-backlog": backlog, save: "", appendonly: "no" };
  start(folder("bin/redis-server"), Object.entries(settings).flatMap(([name, value]) => [`--${name}`, String(value)]));
  await listens(redis);

  const options = [`--redis-host=${host}`, `--redis-port=${redis}`, `--socket-ports=${relay}`, `--status-port=${status}`];
  const program = require.resolve("socket-redis/bin/socket-redis.js");
  start(process.execPath, ["-r", path.join(__dirname, "loopback.js"), program, ...options]);
  await listens(relay);

  const extensions = ["igbinary", "redis"].flatMap((name) => ["-d", `extension=${folder(`lib/php/20220829/${name}.so`)}`]);
  const publisher = start("php", ["-n", ...extensions, "publisher.php", host, String(redis)], "pipe");
  // It says where it listens once socket-redis hears Redis.
  publisher.stdout.once("data", (port) => {
    ready("tcp", Number(port));
    ready("ws", relay, "/websocket");
    ready("sockjs", relay);
    FALLBACKS.forEach((transport) => ready(`sockjs+${transport}`, relay));
  });
}

process.removeAllListeners("SIGTERM");
process.on("SIGTERM", () => {
  isEnding = true;
  const left = programs.filter((child) => child.exitCode === null && child.signalCode === null);
  const ended = left.map((child) => new Promise((resolve) => child.on("exit", resolve)));
  left.forEach((child) => child.kill("SIGTERM"));
  Promise.all(ended).then(() => process.exit(0));
});

main();
