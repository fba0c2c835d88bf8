// A browser that is stopped while it watches a run: `stopped.mjs URL SERVER COUNT` starts a run against the server and
// has two browsers watch it. One of them stands still until the other has seen COUNT lines more, and then loses its
// connections. After that a third one comes. Prints what all have seen in the end as JSON, and `meanwhile`, the messages
// that were sent in each second by the lines that came while one stood still.

import { readdirSync, readFileSync } from "node:fs";
import { connect, createServer } from "node:net";

const { launch } = await import(process.env.BROWSER);
const [url, server, count] = process.argv.slice(2);

/** The processes that this one has started. */
const children = () => readFileSync(`/proc/${process.pid}/task/${process.pid}/children`, "utf8").split(" ").filter(Boolean);

/** The states of the processes of a group, a letter for each. */
function states(group) {
  const stats = readdirSync("/proc").flatMap((process) => {
    try {
      return [readFileSync(`/proc/${process}/stat`, "utf8").match(/.*\) (\w) \d+ (\d+)/s)];
    } catch {
      return [];
    }
  });
  return stats.filter((stat) => stat?.[2] === group && stat[1] !== "Z").map((stat) => stat[1]);
}

/** Runs in each page: notes the number of each line of a run and what was sent, and how often the page has asked. */
function note() {
  window.seen = [];
  window.sent = [];
  window.asked = 0;
  const Own = window.EventSource;
  window.EventSource = class extends Own {
    constructor(...words) {
      super(...words);
      this.addEventListener("open", () => (window.asked += 1));
      this.addEventListener("message", ({ lastEventId, data }) => {
        window.seen.push(Number(lastEventId));
        window.sent.push(JSON.parse(data).sent_per_s);
      });
    }
  };
}

const seen = (page) => page.evaluate(() => window.seen.length);
/** Waits until the page has seen `count` lines of the run, or more. */
const hasSeen = (page, count) => page.waitForFunction((count) => window.seen.length >= count, count, { timeout: 0 });
const text = (page, selector) => page.locator(selector).first().innerText();

// What the second browser takes for a proxy, to whose connections an end can be put.
const ways = [];
const between = createServer((near) => {
  const far = connect(Number(new URL(url).port), "127.0.0.1");
  for (const [one, other] of [[near, far], [far, near]]) {
    one.pipe(other);
    one.on("close", () => other.destroy());
    // What is cut off is told by both of its ends.
    one.on("error", () => {});
  }
  ways.push(near);
});
await new Promise((done) => between.listen(0, "127.0.0.1", done));

const steady = await launch();
const before = children();
const still = await launch({ proxy: { server: `http://127.0.0.1:${between.address().port}` } });
// A browser is a process group of its own.
const group = children().find((child) => !before.includes(child));
try {
  const contexts = await Promise.all([steady, still].map((browser) => browser.newContext()));
  for (const context of contexts) await context.addInitScript(note);
  const [watches, stands] = await Promise.all(contexts.map((context) => context.newPage()));
  await watches.goto(url);
  await watches.evaluate(async (server) => {
    const body = JSON.stringify({ target: { url: server, options: { rate: "500/s", duration: "5m" } } });
    await fetch("api/runs", { method: "POST", body });
  }, server);
  for (const page of [watches, stands]) {
    await page.goto(`${url}#run/0`);
    await page.locator(".tiles", { hasText: /of [1-9]\d* answered/ }).waitFor();
  }

  process.kill(-group, "SIGSTOP");
  const had = await seen(watches);
  await hasSeen(watches, had + Number(count));
  const stopped = states(group);
  const meanwhile = await watches.evaluate((had) => window.sent.slice(had), had);
  process.kill(-group, "SIGCONT");
  await hasSeen(stands, had + Number(count));

  ways.forEach((way) => way.resetAndDestroy());
  await stands.waitForFunction(() => window.asked > 1, null, { timeout: 0 });
  await hasSeen(stands, await seen(watches));

  const late = await contexts[0].newPage();
  await late.goto(`${url}#run/0`);
  await hasSeen(late, await seen(watches));

  await watches.locator("button.stop").click();
  const ends = [];
  for (const page of [watches, stands, late]) {
    await page.locator(".state", { hasText: "over after" }).waitFor();
    await page.locator("a", { hasText: "Read the report" }).waitFor();
    await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
    ends.push({
      seen: await page.evaluate(() => window.seen),
      asked: await page.evaluate(() => window.asked),
      shown: await text(page, "main"),
    });
  }
  console.log(JSON.stringify({ stopped, meanwhile, watches: ends[0], stands: ends[1], late: ends[2] }));
} finally {
  process.kill(-group, "SIGCONT");
  await Promise.all([steady, still].map((browser) => browser.close()));
  between.close();
}
