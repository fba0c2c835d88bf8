// Writes what clients of Phoenix, SignalR, STOMP and ActionCable that many use say to a server, and what they make of its
// answers, a line each: `?` the opening request, `>` a message of the client, `<` a message to it, `=` what its caller was
// told. A frame of STOMP is a string of JSON.
//
//   npm install phoenix@1.8.16 @microsoft/signalr@10.0.11 @stomp/stompjs@7.5.0 @rails/actioncable@8.1.400 ws@8.23.0
//   for name in phoenix signalr stomp actioncable; do node record.js $name > $name.txt; done
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

// A double in the manner of Artemis: `receipt` is copied into the delivery, which comes before the receipt.
async function stomp() {
  const { Client, Versions } = require("@stomp/stompjs");
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await new Promise((resolve) => server.on("listening", resolve));
  server.on("connection", (socket, request) => {
    show("?", "GET " + request.url);
    const say = (frame) => { show("<", JSON.stringify(frame)); socket.send(frame + "\0"); };
    socket.on("message", (bytes) => {
      const frame = bytes.toString().replace(/\0$/, "");
      show(">", JSON.stringify(frame));
      const receipt = (/\nreceipt:(.*)/.exec(frame) || [])[1];
      const body = frame.slice(frame.indexOf("\n\n") + 2);
      if (frame.startsWith("CONNECT\n")) return say("CONNECTED\nversion:1.2\nheart-beat:0,0\n\n");
      if (frame.startsWith("SEND\n"))
        say("MESSAGE\nsubscription:0\nmessage-id:m1\ndestination:/topic/wirebench.0\nreceipt:" + receipt + "\n\n" + body);
      say("RECEIPT\nreceipt-id:" + receipt + "\n\n");
    });
  });
  const client = new Client({
    webSocketFactory: () => new WebSocket("ws://127.0.0.1:" + server.address().port + "/ws", ["v12.stomp"]),
    stompVersions: new Versions(["1.2"]), connectHeaders: { host: "localhost" }, heartbeatIncoming: 0,
    heartbeatOutgoing: 0, reconnectDelay: 0, disconnectHeaders: { receipt: "70000003" },
  });
  await new Promise((resolve) => { client.onConnect = resolve; client.activate(); });
  const destination = "/topic/wirebench.0";
  const received = (receipt) => new Promise((resolve) => client.watchForReceipt(receipt, () => { show("=", "ok"); resolve(); }));
  const subscribed = received("70000001");
  client.subscribe(destination, () => show("=", "pushed"), { id: "0", receipt: "70000001" });
  await subscribed;
  const sent = received("70000002");
  const body = JSON.stringify({ at: 90000001, text: "hello" });
  client.publish({ destination, headers: { receipt: "70000002" }, body, skipContentLengthHeader: true });
  await sent;
  await client.deactivate();
  process.exit(0);
}

async function actioncable() {
  globalThis.document = { visibilityState: "visible", addEventListener() {}, removeEventListener() {} };
  globalThis.window = globalThis;
  globalThis.addEventListener = globalThis.removeEventListener = () => {};
  const { createConsumer, adapters } = await import("@rails/actioncable/app/assets/javascripts/actioncable.esm.js");
  const server = new WebSocketServer({ port: 0, host: "127.0.0.1" });
  await new Promise((resolve) => server.on("listening", resolve));
  server.on("connection", (socket, request) => {
    show("?", "GET " + request.url);
    const say = (message) => { show("<", JSON.stringify(message)); socket.send(JSON.stringify(message)); };
    say({ type: "welcome" });
    socket.on("message", (bytes) => {
      show(">", bytes.toString());
      const { command, identifier, data } = JSON.parse(bytes.toString());
      say({ type: "ping", message: 1700000000 });
      if (command === "subscribe") return say({ identifier, type: "confirm_subscription" });
      say({ identifier, message: { said: "by another" } });
      say({ identifier, message: JSON.parse(data) });
    });
  });
  adapters.WebSocket = WebSocket;
  const consumer = createConsumer("ws://127.0.0.1:" + server.address().port + "/cable");
  const channel = consumer.subscriptions.create({ channel: "EchoChannel" }, {
    connected() { show("=", "ok"); channel.perform("echo", { id: 70000001, text: "hello" }); },
    received(data) {
      show("=", data.id ? "ok" : "pushed");
      if (data.id) process.exit(0);
    },
  });
}

({ phoenix, signalr, stomp, actioncable })[process.argv[2]]();
