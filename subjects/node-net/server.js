// A TCP echo on Node's own net. Replace it with the library to measure.
'use strict';
const net = require('net');

const { WIREBENCH_HOST, WIREBENCH_PORT, WIREBENCH_BACKLOG, WIREBENCH_REPLY, WIREBENCH_WORK_NS } = process.env;
const reply = Buffer.from(WIREBENCH_REPLY ?? '');
/** How long the processor is kept busy for each message. */
const workMs = Number(WIREBENCH_WORK_NS ?? 0) / 1e6;

const server = net.createServer({ noDelay: true }, (socket) => {
  let owed = 0;
  socket.on('data', (data) => {
    if (workMs > 0) for (const end = performance.now() + workMs; performance.now() < end; );
    if (reply.length === 0) {
      socket.write(data);
      return;
    }
    // A message has as many bytes as the reply.
    owed += data.length;
    for (; owed >= reply.length; owed -= reply.length) socket.write(reply);
  });
  socket.on('error', () => socket.destroy());
});

server.listen({ host: WIREBENCH_HOST, port: Number(WIREBENCH_PORT), backlog: Number(WIREBENCH_BACKLOG) }, () => {
  console.log(`ready tcp://${WIREBENCH_HOST}:${server.address().port}`);
});
process.on('SIGTERM', () => process.exit(0));
