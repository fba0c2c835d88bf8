// A player of the load-test game over Bayeux long-polling, with npm `cometd`: `player.js URL PLAYER TABLE ROUNDS` logs
// in, joins, plays so many rounds, each after the answer to the one before, leaves, and prints how often it did. Any
// other answer than the one that is due ends it with exit code 1.
"use strict";

require("cometd-nodejs-client").adapt();
const { CometD } = require("cometd");

const [url, player, table, rounds] = process.argv.slice(2);
const pid = Number(player);
const tableid = Number(table);
const CHANNEL = "/service/client";

const cometd = new CometD();
cometd.unregisterTransport("websocket");
cometd.configure({ url, logLevel: "warn" });

let awaited = () => {};

/** Publishes a packet, and answers with the next packet of the class that it asks for. */
function ask(packet, classId) {
  return new Promise((resolve, reject) => {
    awaited = (answer) => {
      if (answer.classId === classId) resolve(answer);
    };
    cometd.publish(CHANNEL, packet, (reply) => {
      if (!reply.successful) reject(new Error(`publish: ${JSON.stringify(reply)}`));
    });
  });
}

function check(condition, what) {
  if (!condition) throw new Error(`unexpected: ${JSON.stringify(what)}`);
}

/** The event number `seq`, as the JavaScript client of the original packs it: its length leaves the header out. */
function event(seq) {
  const data = Buffer.alloc(22);
  data.writeInt32BE(data.length - 5, 0);
  data.writeUInt8(1, 4);
  data.writeInt32BE(pid, 5);
  data.writeInt32BE(tableid, 9);
  data.writeInt32BE(seq, 13);
  return { classId: 100, tableid, pid, gamedata: data.toString("base64"), attributes: [] };
}

async function play() {
  const name = `Bot_${player}`;
  const login = { classId: 10, user: name, password: player, operatorid: 0, credentials: [] };
  const loggedIn = await ask(login, 11);
  check(loggedIn.status === 0 && loggedIn.pid === pid, loggedIn);
  const joined = await ask({ classId: 30, tableid, seat: -1, params: [] }, 31);
  check(joined.status === 0 && joined.tableid === tableid, joined);
  for (let seq = 1; seq <= Number(rounds); seq++) {
    const answer = await ask(event(seq), 100);
    const data = Buffer.from(answer.gamedata, "base64");
    check(data.length === 18 && data.readInt32BE(5) === pid && data.readInt32BE(13) === seq, answer);
  }
  const left = await ask({ classId: 36, tableid }, 37);
  check(left.status === 0, left);
  console.log(`${rounds} rounds`);
}

function end(error) {
  if (error) console.error(error);
  cometd.disconnect(() => process.exit(error ? 1 : 0));
}

let subscribed = false;
cometd.addListener("/meta/connect", (message) => {
  if (!message.successful || subscribed) return;
  subscribed = true;
  const hear = ({ data }) => {
    const packet = typeof data === "string" ? JSON.parse(data) : data;
    if (packet.classId === 7) cometd.publish(CHANNEL, packet);
    else awaited(packet);
  };
  cometd.subscribe(CHANNEL, hear, (reply) => {
    if (reply.successful) play().then(() => end(), end);
    else end(new Error(JSON.stringify(reply)));
  });
});
cometd.handshake((reply) => {
  if (!reply.successful) end(new Error(JSON.stringify(reply)));
});
setTimeout(() => end(new Error("no end within 60 s")), 60_000).unref();
