// Pushpin with everything it needs: zurl, which sends its requests to the application, and the application, which
// answers which connections to hold, and publishes (https://pushpin.org/docs/usage/).
"use strict";

const { mkdirSync, writeFileSync } = require("fs");
const http = require("http");
const net = require("net");
const path = require("path");
const { createInterface } = require("readline");
const { host, port, ready } = require("./node/server.js");
const { start, freePort, listens } = require("./node/programs.js");

const PACKAGE = path.join(__dirname, "package/usr");
// The most connections that Pushpin holds at once.
const CONNECTIONS_MAX = 50000;
// The time after which a receiver without an answer counts as lost.
const PATIENCE_MS = 100;

/** The text of a file of settings: sections of names and values. */
function settings(sections) {
  const lines = Object.entries(sections).flatMap(([section, values]) => [
    `[${section}]`,
    ...Object.entries(values).map(([name, value]) => `${name}=${value}`),
  ]);
  return `${lines.join("\n")}\n`;
}

/** Starts Pushpin and zurl, which meet in `folder`. */
async function startPushpin(folder, { served, control, application }) {
  mkdirSync(folder, { recursive: true });
  const file = (name) => path.join(folder, name);
  const socket = (name) => `ipc://${file(name)}`;
  writeFileSync(file("routes"), `* ${host}:${application},over_http\n`);
  writeFileSync(
    file("zurl.conf"),
    settings({
      General: {
        in_req_spec: "",
        in_spec: socket("zurl-in"),
        in_stream_spec: socket("zurl-in-stream"),
        out_spec: socket("zurl-out"),
        defpolicy: "allow",
        // Its default refuses addresses of this machine.
        deny: "",
        max_open_requests: 20000,
      },
    }),
  );
  writeFileSync(
    file("pushpin.conf"),
    settings({
      global: {
        include: path.join(PACKAGE, "lib/pushpin/internal.conf"),
        rundir: folder,
        ipc_prefix: "",
      },
      runner: {
        services: "condure,pushpin-proxy,pushpin-handler",
        http_port: `${host}:${served}`,
        logdir: folder,
        log_level: 1,
        client_maxconn: CONNECTIONS_MAX,
      },
      proxy: {
        routesfile: file("routes"),
        updates_check: "off",
        zurl_out_specs: socket("zurl-in"),
        zurl_out_stream_specs: socket("zurl-in-stream"),
        zurl_in_specs: socket("zurl-out"),
      },
      handler: {
        push_in_spec: socket("publish-pull"),
        push_in_sub_specs: socket("publish-sub"),
        command_spec: socket("command"),
        push_in_http_addr: host,
        push_in_http_port: control,
        // No limit; with one, messages leave every 25 ms.
        message_rate: 0,
      },
    }),
  );
  start("zurl", [`--config=${file("zurl.conf")}`, "--loglevel=1"]);
  start("pushpin", [`--config=${file("pushpin.conf")}`, "--merge-output"]);
  await listens(control);
  await holds(served);
}

/** Waits until a receiver is held: the programs listen before they are connected, and lose what arrives then. */
async function holds(port) {
  for (;;) {
    const status = await new Promise((resolve) => {
      const request = http.get({ host, port, path: "/sse/nobody", agent: false, timeout: PATIENCE_MS });
      request.on("error", () => resolve(null));
      request.on("timeout", () => request.destroy());
      request.on("response", (response) => {
        resolve(response.statusCode);
        request.destroy();
      });
    });
    if (status === 200) return;
    await new Promise((resolve) => setTimeout(resolve, 10));
  }
}

/** The application as Pushpin sees it: holds receivers of /sse/ROOM and /ws/ROOM, which get publications in ROOM. */
function answer(request, response) {
  const [, transport, room] = request.url.split("/");
  if (transport === "sse") {
    response.writeHead(200, { "Content-Type": "text/event-stream", "Grip-Hold": "stream", "Grip-Channel": room });
    response.end();
    return;
  }
  let asked = "";
  request.on("data", (data) => (asked += data));
  request.on("end", () => {
    response.writeHead(200, { "Content-Type": "application/websocket-events", "Sec-WebSocket-Extensions": "grip" });
    if (!asked.includes("OPEN")) return response.end();
    const subscribe = `c:${JSON.stringify({ type: "subscribe", channel: room })}`;
    const length = Buffer.byteLength(subscribe).toString(16);
    response.end(`OPEN\r\nTEXT ${length}\r\n${subscribe}\r\n`);
  });
}

/** Has Pushpin send `content` to all in `room`; returns what is wrong, or null. */
function publish(agent, control, room, content) {
  const formats = { "ws-message": { content }, "http-stream": { content: `data: ${content}\n\n` } };
  const body = JSON.stringify({ items: [{ channel: room, formats }] });
  return new Promise((resolve) => {
    const headers = { "Content-Type": "application/json", "Content-Length": Buffer.byteLength(body) };
    const request = http.request({ host, port: control, path: "/publish/", method: "POST", agent, headers });
    request.on("error", (error) => resolve(error.message));
    request.on("response", (response) => {
      response.resume();
      response.on("end", () => resolve(response.statusCode === 200 ? null : `status ${response.statusCode}`));
    });
    request.end(body);
  });
}

/** The application as its user sees it: lines `publish ROOM id=ID TEXT`, each answered when Pushpin has it. */
function takePublications(control) {
  const agent = new http.Agent({ keepAlive: true, maxSockets: 1 });
  return net.createServer({ noDelay: true }, (socket) => {
    socket.on("error", () => {});
    createInterface({ input: socket }).on("line", async (line) => {
      const [, room, id, text] = line.match(/^publish (\S+) id=(\S+) (.*)$/) ?? [];
      if (room === undefined) return socket.write(`error no publication: ${line}\n`);
      const wrong = await publish(agent, control, room, text);
      socket.write(wrong === null ? `published id=${id} \n` : `error ${wrong}\n`);
    });
  });
}

const listening = (server) =>
  new Promise((resolve) => server.listen({ host, port: 0 }, () => resolve(server.address().port)));

async function main() {
  process.env.PATH = `${path.join(PACKAGE, "bin")}:${process.env.PATH}`;
  const served = port || (await freePort());
  const control = await freePort();
  const application = await listening(http.createServer(answer));
  await startPushpin(path.join(__dirname, "run", String(served)), { served, control, application });
  ready("tcp", await listening(takePublications(control)));
  ready("ws", served, "");
  ready("http", served, "");
}

main();
