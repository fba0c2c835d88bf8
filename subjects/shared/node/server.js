// The settings of a server subject from its environment, and its reports that it is ready; docs/SUBJECTS.md.
"use strict";

const { readFileSync } = require("fs");

const { WIREBENCH_HOST, WIREBENCH_PORT, WIREBENCH_REPLY, WIREBENCH_TLS_CERT, WIREBENCH_TLS_KEY } = process.env;
const host = WIREBENCH_HOST || "127.0.0.1";
const workMs = Number(process.env.WIREBENCH_WORK_NS || 0) / 1e6;

module.exports = {
  host,
  port: Number(WIREBENCH_PORT || 0),
  /** The reply to every message; undefined: an echo. */
  reply: WIREBENCH_REPLY,
  backlog: Number(process.env.WIREBENCH_BACKLOG || 4096),
  messageMax: Number(process.env.WIREBENCH_MESSAGE_MAX || 16 << 20),
  /** `cert` and `key`; null: no TLS. */
  tls: WIREBENCH_TLS_CERT ? { cert: readFileSync(WIREBENCH_TLS_CERT), key: readFileSync(WIREBENCH_TLS_KEY) } : null,

  /** Keeps the processor busy for the time that a message is to cost, before it is answered. */
  work() {
    if (workMs > 0) for (const end = performance.now() + workMs; performance.now() < end; );
  },

  /** Says that `scheme` is served on `port`. */
  ready: (scheme, port, path = "/") => process.stdout.write(`ready ${scheme}://${host}:${port}${path}\n`),
};

process.on("SIGTERM", () => process.exit(0));
