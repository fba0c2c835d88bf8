// WebSocket and HTTP echo with Bun.serve, whose engine is uWebSockets.
"use strict";

const { host, port, reply, messageMax, tls, work, ready } = require("./node/server.js");

function serve(schemes, port, tls) {
  const server = Bun.serve({
    hostname: host,
    port,
    tls,
    maxRequestBodySize: messageMax,
    fetch: (request, server) => (server.upgrade(request) ? undefined : answer(request)),
    websocket: {
      maxPayloadLength: messageMax,
      backpressureLimit: messageMax,
      message(socket, message) {
        work();
        socket.send(typeof message === "string" ? reply ?? message : bytes ?? message);
      },
    },
  });
  for (const scheme of schemes) ready(scheme, server.port);
}

async function answer(request) {
  if (request.method !== "POST") return new Response("POST is answered here, and WebSocket\n", { status: 405 });
  const body = await request.arrayBuffer();
  work();
  return new Response(bytes ?? body, { headers: { "content-type": "application/octet-stream" } });
}

const bytes = reply === undefined ? undefined : new TextEncoder().encode(reply);

serve(["ws", "http"], port);
if (tls) serve(["wss", "https"], 0, tls);
