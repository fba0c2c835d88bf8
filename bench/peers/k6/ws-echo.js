// A closed WebSocket loop in k6: every virtual user keeps one message in flight and compares each echo.
//
//   k6 run -e URL=ws://127.0.0.1:PORT/ -e CONNECTIONS=50 -e SIZE=64 -e SECONDS=5 ws-echo.js
//
// k6/ws and not k6/websockets: it is the faster one here, by three fifths.
import ws from "k6/ws";

const message = "PingPongpingpong".repeat(Math.ceil(__ENV.SIZE / 16)).substring(0, __ENV.SIZE);
const milliseconds = __ENV.SECONDS * 1000;

export const options = {
  scenarios: {
    echo: { executor: "per-vu-iterations", vus: Number(__ENV.CONNECTIONS), iterations: 1, maxDuration: "10m" },
  },
};

export default function () {
  ws.connect(__ENV.URL, {}, (socket) => {
    socket.on("open", () => socket.send(message));
    socket.on("message", (echo) => {
      if (echo !== message) {
        throw new Error("the echo differs");
      }
      socket.send(message);
    });
    socket.setTimeout(() => socket.close(), milliseconds);
  });
}
