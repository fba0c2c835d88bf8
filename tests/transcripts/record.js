// Writes what the official clients of Phoenix and SignalR say to a server, and what they make of its answers, a line
// each: `?` the opening request, `>` a message of the client, `<` a message to it, `=` what its caller was told.
//
//   npm install phoenix@1.8.16 @microsoft/signalr@10.0.11 ws@8.23.0
//   node record.js phoenix > phoenix.txt; node record.js signalr > signalr.txt
const { WebSocketServer, WebSocket } = require("ws");

const RS = "\u001e";
const show = (direction, text) => console.log(direction + " " + text);

function serve(path, answer) {
  return new Promise((resolve) => {
    const server = new WebSocketServer({ port: 0, host: "127.0.0.1" }, () => resolve(server.address().port));
    server.on("connection", (socket, request) => {
      show("?", "GET " + request.url);
      const say = (text) => { text.split(RS).filter(Boolean).forEach((part) => show("<", part)); socket.send(text); };
      socket.on("message", (bytes) => {
        const text = bytes.toString();
        for (const part of text.split(RS).filter(Boolean)) { show(">", part); answer(part, say); }
      });
    });
  });
}

async function phoenix() {
  const { Socket } = require("phoenix");
  const port = await serve("/socket/websocket", (text, say) => {
    const [join, ref, topic, event, payload] = JSON.parse(text);
    const reply = (status, response) => say(JSON.stringify([join, ref, topic, "phx_reply", { status, response }]));
    if (payload.body === "refuse") return reply("error", { reason: "unmatched topic" });
    if (event === "new_msg") say(JSON.stringify([join, null, topic, "new_msg", payload]));
    reply("ok", {});
    if (event === "phx_leave") say(JSON.stringify([join, ref, topic, "phx_close", {}]));
  });
  const socket = new Socket("ws://127.0.0.1:" + port + "/socket", { transport: WebSocket, heartbeatIntervalMs: 300 });
  socket.connect();
  const channel = socket.channel("room:lobby", {});
  const done = (push) => new Promise((resolve) => push
    .receive("ok", () => { show("=", "ok"); resolve(); })
    .receive("error", (reason) => { show("=", "error " + reason.reason); resolve(); }));
  channel.on("new_msg", () => show("=", "pushed"));
  await done(channel.join());
  await done(channel.push("new_msg", { body: "hello" }));
  await done(channel.push("new_msg", { body: "refuse" }));
  await new Promise((resolve) => setTimeout(resolve, 450));
  channel.leave();
  setTimeout(() => process.exit(0), 100);
}

async function signalr() {
  const { HubConnectionBuilder, HttpTransportType, LogLevel } = require("@microsoft/signalr");
  const port = await serve("/hub", (text, say) => {
    const message = JSON.parse(text);
    if (message.protocol) return say("{}" + RS);
    if (message.type !== 1) return;
    const { invocationId, target, arguments: given } = message;
    if (given[0] === "refuse") return say(JSON.stringify({ type: 3, invocationId, error: "no" }) + RS);
    say(JSON.stringify({ type: 1, target: "said", arguments: given }) + RS);
    say(JSON.stringify({ type: 3, invocationId, result: given[0] }) + RS + JSON.stringify({ type: 6 }) + RS);
  });
  const hub = new HubConnectionBuilder()
    .withUrl("http://127.0.0.1:" + port + "/hub", { skipNegotiation: true, transport: HttpTransportType.WebSockets })
    .configureLogging(LogLevel.None).build();
  hub.on("said", () => show("=", "pushed"));
  hub.keepAliveIntervalInMilliseconds = 300;
  await hub.start();
  show("=", "ok");
  show("=", "ok " + await hub.invoke("Echo", "hello"));
  await hub.invoke("Echo", "refuse").catch((error) => show("=", "error " + error.message));
  await new Promise((resolve) => setTimeout(resolve, 450));
  await hub.stop();
  setTimeout(() => process.exit(0), 100);
}

({ phoenix, signalr })[process.argv[2]]();
