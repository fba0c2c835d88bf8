// Runs in each tab: a receiver in a room, with the library of its transport.
"use strict";

/** Milliseconds since 1970 by the clock of this page. */
const now = () => performance.timeOrigin + performance.now();
/** The same in nanoseconds, which exceed the exact integers of a JavaScript number. */
const nanos = (ms) => `${Math.round(ms * 1e3)}000`;
/** The steps of that clock, in nanoseconds. */
const resolution = crossOriginIsolated ? 5_000 : 100_000;

const SOCKJS = {
  sockjs: "websocket",
  "sockjs+xhr-streaming": "xhr-streaming",
  "sockjs+eventsource": "eventsource",
  "sockjs+htmlfile": "htmlfile",
  "sockjs+xhr": "xhr-polling",
  "sockjs+jsonp": "jsonp-polling",
};
const SOCKETIO = {
  socketio: ["websocket"],
  "socketio+polling": ["polling"],
  "socketio+upgrade": ["polling", "websocket"],
};

let receiver;

/** Opens the receiver of this tab; resolves when the relay has confirmed that it joined. */
function openReceiver({ scheme, place, base, room }) {
  return new Promise((resolve, reject) => {
    const began = `message ${room}\n`;
    receiver = { end: "waiting", messages: [], errors: {}, onEnd: () => {} };
    const end = (how) => {
      if (receiver.end !== "waiting") return;
      receiver.end = how;
      receiver.onEnd();
    };
    const error = (words) => {
      receiver.errors[words] = (receiver.errors[words] ?? 0) + 1;
      reject(new Error(words));
    };
    receiver.connection = connect(scheme, place, base, {
      opened: () => receiver.connection.send(`join ${room}`),
      heard(text) {
        const time = now();
        if (text === `joined ${room}`) resolve();
        else if (!text.startsWith(began)) error(`it heard ${JSON.stringify(text.slice(0, 80))}`);
        else if (text.slice(began.length) === "end") end("ended");
        else receiver.messages.push(text.substr(began.length, 32), nanos(time));
      },
      closed(words) {
        error(words);
        end("cut");
      },
    });
  });
}

/** A connection over the transport that a scheme names, and no other. */
function connect(scheme, place, base, events) {
  if (scheme in SOCKETIO) {
    const transports = SOCKETIO[scheme];
    const options = { path: `${base}/socket.io/`, transports, reconnection: false, forceNew: true };
    const socket = io(`http://${place}`, options);
    const transport = () => socket.io.engine.transport.name;
    socket.on("connect", () => {
      if (transport() === transports.at(-1)) events.opened();
      else socket.io.engine.once("upgrade", events.opened);
    });
    socket.on("connect_error", ({ message }) => events.closed(message));
    socket.on("disconnect", events.closed);
    socket.on("message", events.heard);
    return { transport, send: (text) => socket.emit("message", text) };
  }
  const isBare = scheme === "ws";
  // A machine that is busy with ten tabs is no reason to fall back to another transport.
  const options = { transports: [SOCKJS[scheme]], timeout: 60_000 };
  const socket = isBare ? new WebSocket(`ws://${place}${base}/`) : new SockJS(`http://${place}${base}/tabs`, null, options);
  socket.onopen = events.opened;
  socket.onmessage = ({ data }) => events.heard(data);
  socket.onclose = ({ code, reason }) => events.closed(`closed: ${code} ${reason}`);
  return { transport: () => (isBare ? "websocket" : socket.transport), send: (text) => socket.send(text) };
}

/** Waits for the end mark, the end of the connection, or `ms`. */
function endOrTimeOut(ms) {
  return new Promise((resolve) => {
    if (receiver.end !== "waiting") return resolve();
    receiver.onEnd = resolve;
    setTimeout(resolve, ms);
  });
}

/** Asks for the time `count` times; returns when each question was asked, the answer, and when that arrived. */
async function exchange(url, count) {
  const socket = new WebSocket(url);
  await new Promise((resolve, reject) => {
    socket.onopen = resolve;
    socket.onerror = () => reject(new Error("there is no clock"));
  });
  const all = [];
  for (let index = 0; index < count; index += 1) {
    const answered = new Promise((resolve) => (socket.onmessage = ({ data }) => resolve([data, now()])));
    const asked = now();
    socket.send("?");
    const [data, heard] = await answered;
    all.push(nanos(asked), data, nanos(heard));
  }
  socket.close();
  return all;
}

/** Everything that this tab reports about what it received. */
function report() {
  const { end, messages, errors, connection } = receiver;
  return { end, messages, errors, resolution, transport: connection.transport() };
}
