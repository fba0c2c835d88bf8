// The CPU time of the browser's processes, read from /proc.
"use strict";

const { readFileSync, readdirSync } = require("fs");

/** CPU time in nanoseconds that the threads of all processes below this one have used. */
const cpuOfChildren = () => below(process.pid).reduce((sum, id) => sum + cpuOf(id), 0);

function below(id) {
  const children = threads(id).flatMap((thread) => words(`/proc/${id}/task/${thread}/children`));
  return children.flatMap((child) => [child, ...below(child)]);
}

function cpuOf(id) {
  return threads(id).reduce((sum, thread) => sum + Number(words(`/proc/${id}/task/${thread}/schedstat`)[0] ?? 0), 0);
}

function threads(id) {
  try {
    return readdirSync(`/proc/${id}/task`);
  } catch {
    return []; // it has ended in between
  }
}

function words(path) {
  try {
    return readFileSync(path, "utf8").split(/\s+/).filter(Boolean);
  } catch {
    return [];
  }
}

module.exports = { cpuOfChildren };
