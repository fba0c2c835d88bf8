// 1000 arrivals a second for 20 s; USERS is the maximum number of requests in flight.
//
//   k6 run --quiet --no-usage-report -e URL=http://127.0.0.1:PORT/ -e USERS=2500 k6-http.js
import http from "k6/http";

export const options = {
  discardResponseBodies: true,
  summaryTrendStats: ["count", "med", "p(99)", "max"],
  scenarios: {
    arrivals: {
      executor: "constant-arrival-rate",
      rate: 1000,
      timeUnit: "1s",
      duration: "20s",
      preAllocatedVUs: Number(__ENV.USERS),
    },
  },
};

export default function () {
  http.get(__ENV.URL);
}

export function handleSummary({ metrics }) {
  const dropped = metrics.dropped_iterations ? metrics.dropped_iterations.values.count : 0;
  return { stdout: JSON.stringify({ ...metrics.http_req_duration.values, dropped }) };
}
