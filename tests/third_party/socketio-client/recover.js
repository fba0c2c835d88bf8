// A client of Socket.IO whose connection is lost, in a room of `wirebench serve relay --recovery`, with npm
// `socket.io-client`: `recover.js URL ROOM TRANSPORT`. It joins the room and hears a message; then its connection is cut,
// and what is published in the room before it is back, a text and bytes, has to come all the same, under the same name. It
// prints what it has heard. Anything else ends it with exit code 1.
"use strict";

const { io } = require("socket.io-client");

const [url, room, transport] = process.argv.slice(2);
const socket = io(url, { transports: [transport], reconnectionDelay: 500, randomizationFactor: 0 });
const heard = [];
let name;

function check(condition, what) {
  if (!condition) throw new Error(`unexpected: ${JSON.stringify(what)}`);
}

async function publish(body) {
  const answer = await fetch(`${url}/publish?room=${room}`, { method: "POST", body });
  return answer.text();
}

socket.on("connect", () => {
  if (name === undefined) {
    name = socket.id;
    socket.emit("message", `join ${room}`);
  } else {
    check(socket.recovered && socket.id === name, { recovered: socket.recovered, id: socket.id, name });
    publish("after");
  }
});
socket.on("disconnect", async (reason) => {
  if (reason === "io client disconnect") return;
  // The relay has seen the end of the connection by then.
  let receivers;
  do receivers = await publish("while away"); while (receivers !== "receivers=0\n");
  await publish(Buffer.from([0xff]));
});
socket.on("message", (message) => {
  const [line, text] = String(message).split("\n");
  if (line === `joined ${room}`) return publish("before");
  check(line === `message ${room}`, line);
  const last = heard.at(-1);
  heard.push(Buffer.isBuffer(message) ? "bytes" : text);
  if (text === "before") socket.io.engine.close();
  if (text === "while away") check(last === "before" || last === "while away", heard);
  if (text === "after") {
    console.log([...new Set(heard)].join(", "));
    socket.close();
  }
});
