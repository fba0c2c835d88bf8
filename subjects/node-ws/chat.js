// A chat with npm `ws`: POST /login gives a ticket, which opens one WebSocket at /chat?ticket=…; there a client joins a
// room, and what it says is acknowledged and sent to all others in the room. On SIGTERM it prints what it did.
"use strict";

const http = require("http");
const { WebSocketServer } = require("ws");

const tickets = new Map();
const rooms = new Map();
const done = { logins: 0, refused: 0, joined: 0, said: 0, heard: 0 };

const server = http.createServer((request, response) => {
  let body = "";
  request.on("data", (part) => (body += part));
  request.on("end", () => {
    const { user, password } = JSON.parse(body || "{}");
    const isLogin = request.method === "POST" && request.url === "/login" && password === `secret of ${user}`;
    response.writeHead(isLogin ? 200 : 401, { "Content-Type": "application/json" });
    if (!isLogin) return response.end(JSON.stringify({ error: "wrong password" }));
    const ticket = `${user}/${++done.logins}`;
    tickets.set(ticket, user);
    response.end(JSON.stringify({ ticket }));
  });
});

const sockets = new WebSocketServer({ noServer: true, perMessageDeflate: false });
server.on("upgrade", (request, socket, head) => {
  const ticket = new URL(request.url, "http://chat").searchParams.get("ticket");
  const user = tickets.get(ticket);
  if (!tickets.delete(ticket)) {
    done.refused += 1;
    return socket.end("HTTP/1.1 401 Unauthorized\r\nContent-Length: 0\r\n\r\n");
  }
  sockets.handleUpgrade(request, socket, head, (member) => chat(member, user));
});

function chat(member, user) {
  let room = null;
  member.on("message", (data) => {
    const { type, id, room: name, at } = JSON.parse(data);
    if (type === "join") {
      room = rooms.get(name) ?? new Set();
      rooms.set(name, room.add(member));
      done.joined += 1;
      member.send(JSON.stringify({ type: "joined", id, user }));
    } else if (type === "say" && room) {
      done.said += 1;
      for (const other of room) {
        if (other !== member) other.send(JSON.stringify({ type: "heard", from: user, id, at }));
        done.heard += other !== member;
      }
      member.send(JSON.stringify({ type: "said", id }));
    } else {
      member.send(JSON.stringify({ type: "error", id }));
    }
  });
  member.on("close", () => room?.delete(member));
  member.on("error", () => member.terminate());
}

server.listen({ host: "127.0.0.1", port: 0, backlog: 4096 }, () => console.log(server.address().port));
process.on("SIGTERM", () => process.exit(console.log(JSON.stringify(done))));
