// Clients of SockJS in a room of `wirebench serve relay`, with npm `sockjs-client`: `room.js URL ROOM COUNT TRANSPORT...`
// opens one client for each transport, which it may not leave. When all have joined, each publishes COUNT messages; when
// each has heard all of them and every acknowledgement, it prints what each has had. Anything else that a client hears,
// the messages of another out of order among it, ends it with exit code 1.
"use strict";

const SockJS = require("sockjs-client");

const [url, room, counted, ...transports] = process.argv.slice(2);
const count = Number(counted);

function check(condition, what) {
  if (!condition) throw new Error(`unexpected: ${JSON.stringify(what)}`);
}

/** A client in the room; `joined` and `done` are called when it has come so far. */
function client(transport, joined, done) {
  // A machine that is busy with other things is not slow enough for another transport.
  const socket = new SockJS(url, null, { transports: [transport], timeout: 60_000 });
  const heard = new Map(transports.map((other) => [other, 0]));
  let acknowledged = 0;
  socket.onopen = () => {
    check(socket.transport === transport, socket.transport);
    socket.send(`join ${room}`);
  };
  socket.onclose = ({ code, reason }) => {
    check(code === 1000, { transport, code, reason });
    if (--open === 0) process.exit(0);
  };
  socket.onmessage = ({ data }) => {
    const [line, text] = data.split("\n");
    if (line === `joined ${room}`) {
      joined();
    } else if (line === `message ${room}`) {
      const [from, number] = text.split(" ");
      check(heard.get(from) === Number(number), data);
      heard.set(from, heard.get(from) + 1);
    } else {
      check(line === `published id=${acknowledged} receivers=${transports.length}`, data);
      acknowledged++;
    }
    const delivered = [...heard.values()].reduce((sum, each) => sum + each);
    if (delivered === count * transports.length && acknowledged === count) {
      done(`${transport}: ${acknowledged} acknowledged, ${delivered} delivered`);
    }
  };
  const publish = () => {
    for (let number = 0; number < count; number++) {
      socket.send(`publish ${room} id=${number}\n${transport} ${number}`);
    }
  };
  return { publish, close: () => socket.close() };
}

const lines = [];
let missing = transports.length;
let open = transports.length;
const clients = transports.map((transport) =>
  client(
    transport,
    () => {
      if (--missing === 0) clients.forEach(({ publish }) => publish());
    },
    (line) => {
      if (lines.push(line) === transports.length) {
        console.log(lines.sort().join("\n"));
        clients.forEach(({ close }) => close());
      }
    },
  ),
);
