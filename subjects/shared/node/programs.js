// Programs that a server needs beside it. They cannot choose a port themselves, so free ones are chosen here, and
// released just before they start. All of them end with this one.
"use strict";

const { spawn } = require("child_process");
const net = require("net");
const { host } = require("./server.js");

const STDERR = 2;
const SIGNAL_MOMENT_MS = 1000;

/** The started programs, the last first. */
const programs = [];

/** True once this program is asked to end. */
let isEnding = false;

/** Starts a program, whose output goes to stderr unless `stdout` says otherwise. */
function start(program, args, { stdout = STDERR } = {}) {
  const child = spawn(program, args, { stdio: ["ignore", stdout, STDERR] });
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

process.removeAllListeners("SIGTERM");
process.on("SIGTERM", () => {
  isEnding = true;
  const left = programs.filter((child) => child.exitCode === null && child.signalCode === null);
  const ended = left.map((child) => new Promise((resolve) => child.on("exit", resolve)));
  left.forEach((child) => child.kill("SIGTERM"));
  Promise.all(ended).then(() => process.exit(0));
});

module.exports = { start, freePort, listens };
