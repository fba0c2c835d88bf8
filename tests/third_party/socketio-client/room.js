// Clients of Socket.IO in a room of `wirebench serve relay`, with npm `socket.io-client`: `room.js URL ROOM COUNT
// TRANSPORTS...` opens one for each list of transports, which begins with the first and has to end with the last. When all
// have joined, each publishes COUNT messages, every second one as bytes; when each has heard all of them as they were
// published, and every acknowledgement, by the relay and by Socket.IO, and has upgraded, it prints what each has had.
// Anything else that a client hears, the messages of another out of order among it, ends it with exit code 1. `URL#/NAME` is
// the namespace of that name.
"use strict";

const { io } = require("socket.io-client");

const [url, room, counted, ...names] = process.argv.slice(2);
const count = Number(counted);
const { origin, pathname, hash } = new URL(url);

function check(condition, what) {
  if (!condition) throw new Error(`unexpected: ${JSON.stringify(what)}`);
}

const isBytes = (number) => number % 2 === 1;

/** A client in the room; `joined` and `done` are called when it has come so far. */
function client(name, joined, done) {
  const path = `${pathname.replace(/\/$/, "")}/socket.io/`;
  const transports = name.split(",");
  const socket = io(`${origin}${hash.slice(1)}`, { path, transports, reconnection: false, forceNew: true });
  const transport = () => socket.io.engine.transport.name;
  const heard = new Map(names.map((other) => [other, 0]));
  let acknowledged = 0;
  let called = 0;
  const look = () => {
    const delivered = [...heard.values()].reduce((sum, each) => sum + each);
    const hasAll = delivered === count * names.length && acknowledged === count && called === count;
    if (hasAll && transport() === transports.at(-1)) {
      done(`${name}: ${acknowledged} acknowledged, ${delivered} delivered`);
    }
  };
  socket.on("connect", () => {
    check(transports.includes(transport()), transport());
    socket.io.engine.on("upgrade", look);
    socket.emit("message", `join ${room}`);
  });
  socket.on("connect_error", (error) => check(false, error.message));
  socket.on("disconnect", (reason) => {
    // The process ends when the last farewell is posted and the last poll is answered.
    check(reason === "io client disconnect", { name, reason });
  });
  socket.on("message", (message) => {
    const data = String(message);
    const [line, text] = data.split("\n");
    if (line === `joined ${room}`) {
      joined();
    } else if (line === `message ${room}`) {
      const [from, number] = text.split(" ");
      check(heard.get(from) === Number(number) && Buffer.isBuffer(message) === isBytes(number), data);
      heard.set(from, heard.get(from) + 1);
    } else {
      const published = `published id=${acknowledged} receivers=${names.length}`;
      check(message === published, data);
      acknowledged++;
    }
    look();
  });
  const publish = () => {
    for (let number = 0; number < count; number++) {
      const text = `publish ${room} id=${number}\n${name} ${number}`;
      socket.emit("message", isBytes(number) ? Buffer.from(text) : text, () => {
        called++;
        look();
      });
    }
  };
  return { publish, close: () => socket.close() };
}

const lines = [];
let missing = names.length;
const clients = names.map((name) =>
  client(
    name,
    () => {
      if (--missing === 0) clients.forEach(({ publish }) => publish());
    },
    (line) => {
      if (lines.push(line) === names.length) {
        console.log(lines.sort().join("\n"));
        clients.forEach(({ close }) => close());
      }
    },
  ),
);
