// WebSocket client with npm `ws`.
"use strict";

const WebSocket = require("ws");
const { version } = require("ws/package.json");
const { settings, answer } = require("./node/client.js");
require("./node/block.js");

const { url, ca, expect, isText } = settings;
const payload = isText ? settings.payload.toString() : settings.payload;
const now = () => performance.now() * 1e6;

function connect(events) {
  let last = now();
  const phases = {};
  const ended = (name) => {
    const time = now();
    [phases[name], last] = [time - last, time];
  };
  const finishRequest = (request) => {
    request.once("socket", (socket) => {
      socket.once("lookup", () => ended("resolve"));
      socket.once("connect", () => ended("connect"));
      socket.once("secureConnect", () => ended("tls"));
    });
    request.end();
  };
  const socket = new WebSocket(url, { perMessageDeflate: false, ca, finishRequest });
  socket.on("open", () => {
    ended("handshake");
    events.opened(phases);
  });
  socket.on("message", (data, isBinary) => events.replied(isBinary !== isText && data.equals(expect)));
  socket.on("error", (error) => events.failed(error.message || error.code));
  socket.on("close", events.closed);
  return { send: () => socket.send(payload), close: () => socket.close(1000) };
}

const cpu = () => {
  const { user, system } = process.cpuUsage();
  return (user + system) * 1000;
};
answer("ws", version, (plan, moment) => runBlock(connect, settings, plan, now, moment), cpu);
