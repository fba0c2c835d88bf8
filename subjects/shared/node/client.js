// The settings of a client subject from its environment, its commands on stdin, and its reports; docs/SUBJECTS.md.
"use strict";

const { readFileSync } = require("fs");
const { createInterface } = require("readline");

const { WIREBENCH_URL, WIREBENCH_CA, WIREBENCH_CONNECTIONS, WIREBENCH_PAYLOAD, WIREBENCH_EXPECT } = process.env;
const { WIREBENCH_KIND, WIREBENCH_LIFE } = process.env;

const settings = {
  url: WIREBENCH_URL,
  ca: WIREBENCH_CA ? readFileSync(WIREBENCH_CA) : undefined,
  connections: Number(WIREBENCH_CONNECTIONS || 1),
  payload: readFileSync(WIREBENCH_PAYLOAD),
  expect: readFileSync(WIREBENCH_EXPECT),
  isText: WIREBENCH_KIND === "text",
  /** Round trips of a connection; 0: as many as there are. */
  life: Number(WIREBENCH_LIFE === "long" ? 0 : WIREBENCH_LIFE || 0),
};

/**
 * Answers every `run` on stdin, until it is closed. `run(plan, moment)` runs a block and returns its results;
 * `cpu()` is the CPU time in nanoseconds that its process has used.
 */
async function answer(library, version, run, cpu) {
  console.log(`ready ${library} ${version}`);
  for await (const line of createInterface({ input: process.stdin })) {
    const [command, ...words] = line.trim().split(/\s+/);
    if (command !== "run") continue;
    const plan = Object.fromEntries(words.map((word) => word.split("=")).map(([key, value]) => [key, Number(value)]));
    if (plan.rate !== undefined) {
      console.log("unsupported a rate");
      continue;
    }
    const at = {};
    const moment = (name) => {
      if (name === "measured") at[name] = cpu();
      console.log(name);
      if (name === "measuring") at[name] = cpu();
    };
    const results = await run(plan, moment);
    print(results, at.measured - at.measuring);
  }
}

function print({ wall, roundTrips, lives, phases, errors }, cpu) {
  console.log(`wall_ns ${Math.round(wall)}\ncpu_ns ${Math.round(cpu)}\nok ${roundTrips.length}`);
  for (const words in errors) console.log(`error ${errors[words]} ${words.replace(/\s+/g, " ")}`);
  const all = { round_trip_ns: roundTrips, life_ns: lives };
  for (const name in phases) all[`${name}_ns`] = phases[name];
  for (const name in all) {
    for (let from = 0; from < all[name].length; from += 1000) {
      console.log(name, all[name].slice(from, from + 1000).map(Math.round).join(" "));
    }
  }
  console.log("done");
}

module.exports = { settings, answer };
