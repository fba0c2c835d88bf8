// A player in a real browser: `player.mjs SOCKET COMET PLAYER TABLE` logs in over WebSocket, joins, plays one round,
// leaves, and has the page shake hands over Comet, which belongs to another origin. Prints what came of it as JSON.

const { launch } = await import(process.env.BROWSER);
const [socket, comet, player, table] = process.argv.slice(2);

/** Runs in the page. */
async function play({ socket, comet, pid, tableid }) {
  const opened = new WebSocket(socket);
  const classes = [];
  let awaited = () => {};
  opened.onmessage = ({ data }) => {
    for (const packet of [JSON.parse(data)].flat()) {
      classes.push(packet.classId);
      awaited(packet);
    }
  };
  const closed = new Promise((resolve) => (opened.onclose = ({ code }) => resolve(code)));
  await new Promise((resolve, reject) => {
    opened.onopen = resolve;
    opened.onerror = () => reject(new Error("no connection"));
  });
  const ask = (packet, classId) =>
    new Promise((resolve) => {
      awaited = (answer) => answer.classId === classId && resolve(answer);
      opened.send(JSON.stringify(packet));
    });
  const user = `Bot_${pid}`;
  const login = await ask({ classId: 10, user, password: `${pid}`, operatorid: 0, credentials: [] }, 11);
  const join = await ask({ classId: 30, tableid, seat: -1, params: [] }, 31);
  const event = new DataView(new ArrayBuffer(22));
  event.setInt32(0, 22);
  event.setUint8(4, 1);
  [pid, tableid, 1, 0].forEach((value, index) => event.setInt32(5 + 4 * index, value));
  const gamedata = btoa(String.fromCharCode(...new Uint8Array(event.buffer)));
  const round = await ask({ classId: 100, tableid, pid, gamedata, attributes: [] }, 100);
  const leave = await ask({ classId: 36, tableid }, 37);
  opened.close(1000);

  const handshake = [{ channel: "/meta/handshake", version: "1.0", supportedConnectionTypes: ["long-polling"] }];
  const headers = { "Content-Type": "application/json;charset=UTF-8" };
  const options = { method: "POST", credentials: "include", headers, body: JSON.stringify(handshake) };
  const [reply] = await (await fetch(comet, options)).json();
  return {
    statuses: [login, join, leave].map(({ status }) => status),
    pid: login.pid,
    response: atob(round.gamedata).length,
    classes,
    close: await closed,
    handshake: reply.successful,
  };
}

const browser = await launch();
try {
  const page = await browser.newPage();
  const said = [];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(error.message));
  const result = await page.evaluate(play, { socket, comet, pid: Number(player), tableid: Number(table) });
  console.log(JSON.stringify({ ...result, said }));
} finally {
  await browser.close();
}
