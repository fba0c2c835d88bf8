// Loaded into every process of socket-redis, which listens on all addresses and has no option for another: makes it
// listen on WIREBENCH_HOST alone.
"use strict";

const { Server } = require("net");
const { host, backlog } = require("./node/server.js");

const listen = Server.prototype.listen;
Server.prototype.listen = function (port, ...rest) {
  return listen.call(this, { host, port: Number(port), backlog }, ...rest);
};
