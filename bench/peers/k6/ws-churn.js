// Short-lived WebSocket clients in k6: connect, some round trips, close; so many in all, so many at a time.
//
//   k6 run -e URL=ws://127.0.0.1:PORT/ -e CLIENTS=20000 -e CONCURRENCY=10 -e ROUND_TRIPS=5 -e SIZE=64 ws-churn.js
import ws from "k6/ws";

const message = "PingPongpingpong".repeat(Math.ceil(__ENV.SIZE / 16)).substring(0, __ENV.SIZE);
const roundTrips = Number(__ENV.ROUND_TRIPS);

export const options = {
  scenarios: {
    churn: {
      executor: "shared-iterations",
      vus: Number(__ENV.CONCURRENCY),
      iterations: Number(__ENV.CLIENTS),
      maxDuration: "10m",
    },
  },
};

export default function () {
  ws.connect(__ENV.URL, {}, (socket) => {
    let left = roundTrips;
    socket.on("open", () => socket.send(message));
    socket.on("message", (echo) => {
      if (echo !== message) {
        throw new Error("the echo differs");
      }
      left -= 1;
      if (left > 0) {
        socket.send(message);
      } else {
        socket.close();
      }
    });
  });
}
