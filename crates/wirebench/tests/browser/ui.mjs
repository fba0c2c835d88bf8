// The page of `wirebench ui` in a real browser: `ui.mjs URL SERVER` starts two runs against the server, watches,
// changes and stops the first, reads the history, in which a record is hostile, and compares two records. Prints what it
// saw as JSON.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";

const { launch } = await import(process.env.BROWSER);
const axe = readFileSync(createRequire(process.env.BROWSER).resolve("axe-core/axe.min.js"), "utf8");
const [url, server] = process.argv.slice(2);
const browser = await launch();
const context = await browser.newContext({ viewport: { width: 1280, height: 900 } });
const [said, foreign, dialogs, tooWide, faults] = [[], [], [], [], []];

/** Runs in each page: notes intervals of a run that are not on the page two frames after they came. */
await context.addInitScript(() => {
  window.late = [];
  window.drawn = 0;
  const Own = window.EventSource;
  window.EventSource = class extends Own {
    constructor(...words) {
      super(...words);
      this.addEventListener("message", ({ data }) => {
        const told = JSON.parse(data);
        if (told.event !== "interval") return;
        const look = () => {
          const shown = document.querySelector(".state")?.textContent.match(/([\d.]+) s$/)?.[1];
          // It is shown in tenths of a second.
          if (shown !== undefined && Number(shown) < told.at_s - 0.051) window.late.push([told.at_s, shown]);
          window.drawn += 1;
        };
        requestAnimationFrame(() => requestAnimationFrame(look));
      });
    }
  };
});

async function tab() {
  const page = await context.newPage();
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(error.message));
  page.on("request", (request) => {
    if (!request.url().startsWith(url) && !request.url().startsWith("data:")) foreign.push(request.url());
  });
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    dialog.dismiss();
  });
  return page;
}

/** Light and dark, wide and narrow: what axe finds serious, and what does not fit. */
async function judged(page, name) {
  await page.evaluate(axe);
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 400]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));
      if (await page.evaluate(() => document.documentElement.scrollWidth > innerWidth)) tooWide.push(`${name} at ${width}`);
      const isStretched = () => [...document.querySelectorAll("canvas.heat")].some((it) => it.width !== Math.floor(it.clientWidth * devicePixelRatio));
      if (await page.evaluate(isStretched)) faults.push(`${name} at ${width}: the latency over time is stretched`);
      const { violations } = await page.evaluate(() => axe.run());
      for (const { id, impact, nodes } of violations) {
        if (impact === "serious" || impact === "critical") {
          faults.push(`${name} at ${width}, ${colorScheme}: ${id}: ${nodes[0].html.slice(0, 200)} ${nodes[0].failureSummary.slice(0, 200)}`);
        }
      }
    }
  }
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1280, height: 900 });
}

const text = (page, selector) => page.locator(selector).first().innerText();
const go = async (page, view) => {
  await page.goto(`${url}#${view}`);
  await page.locator("main h1").waitFor();
};
const start = async (page, fields) => {
  await go(page, "new");
  const own = page.locator("form").first();
  for (const [name, value] of Object.entries(fields)) await own.locator(`[name="${name}"]`).fill(value);
  await own.locator("button[type=submit]").click();
};

/** Waits for the report of a run and for the end of its process: until then no other can be started. */
const ends = async (page) => {
  await page.locator("a", { hasText: "Read the report" }).waitFor();
  await page.locator(".state", { hasText: "over after" }).waitFor();
};

const page = await tab();
await go(page, "new");
await page.locator("form details").first().locator("summary").click();
await judged(page, "new");
const fields = await page.locator("form").first().locator("input, select, textarea").count();

// What cannot be is said, and nothing is started.
await start(page, { url: server, "option-rate": "2000" });
const refused = await text(page, "[role=alert]");

await start(page, { url: server, "option-rate": "500/s", "option-connections": "4", "option-duration": "5m" });
await page.waitForURL(/#run\/0$/);
await page.locator(".tiles", { hasText: "500/s due" }).waitFor();
await page.locator("[name=rate]").fill("900/s");
await page.locator("button", { hasText: "Change the rate" }).click();
await page.locator(".tiles", { hasText: "900/s due" }).waitFor();
await page.locator("button", { hasText: "+10 %" }).click();
await page.locator(".tiles", { hasText: "990/s due" }).waitFor();
const replies = async (of) => Number((await text(of, ".tiles")).match(/of (\d+) answered/)?.[1] ?? 0);
await page.locator(".tiles", { hasText: /of [1-9]\d* answered/ }).waitFor();
const before = await replies(page);

// Whoever comes again, or late, has all of it.
const first = (of) =>
  of.evaluate(async () => {
    const aborts = new AbortController();
    const answer = await fetch("api/runs/0/feed", { signal: aborts.signal });
    const { value } = await answer.body.getReader().read();
    aborts.abort();
    return new TextDecoder().decode(value).split("\n").slice(0, 2);
  });
await page.reload();
await page.locator(".tiles", { hasText: /of [1-9]\d* answered/ }).waitFor();
const after = await replies(page);
const second = await tab();
await second.goto(`${url}#run/0`);
await second.locator(".tiles", { hasText: "990/s due" }).waitFor();
const firstLines = await first(second);
await judged(second, "running");

const [late, drawn] = await second.evaluate(() => [window.late, window.drawn]);

// One at a time.
await start(page, { url: server, "option-duration": "1s" });
const busy = await text(page, "[role=alert]");
await page.goto(`${url}#run/0`);

await second.locator("button.stop").click();
for (const of of [page, second]) await ends(of);
const answer = await text(second, ".answer");
await judged(second, "over");
await second.close();

await start(page, { url: server, "option-duration": "1s", "option-connections": "2", "option-require": "p50 < 10s\n\nmessages/s > 1/s" });
await page.waitForURL(/#run\/1$/);
await ends(page);
const limited = await text(page, ".answer");
await go(page, "run");
const listed = await text(page, ".runs");
await judged(page, "runs");

// A file does as well as a form.
await go(page, "new");
await page.locator("form").nth(1).locator("[name=name]").fill("of a file");
await page.locator("[name=file]").fill(`duration = "200ms"\nwarm-up = "0s"\nrounds = 2\n[[row]]\nname = "of a file"\nurl = "${server}"\n`);
await page.locator("button", { hasText: "Start the experiment" }).click();
await page.waitForURL(/#run\/2$/);
await ends(page);
const ofFile = await text(page, ".state");

// The rule about public addresses holds here too: nothing is measured, and the page says why.
await start(page, { url: "tcp://203.0.113.9:9" });
await page.waitForURL(/#run\/3$/);
await page.locator(".state", { hasText: "over" }).waitFor();
const guarded = await text(page, "main [role=alert]");

await go(page, "history");
await page.locator("tbody tr").first().waitFor();
const rows = await page.locator("tbody tr").count();
const markup = await page.locator("main img, main script").count();
const hostile = await text(page, "tbody");
await judged(page, "history");
await page.locator("[name=experiment]").fill("of-a-file");
await page.locator("[name=experiment]").press("Enter");
await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 1);
const filtered = await text(page, "tbody");
await page.locator("[name=experiment]").fill("");
await page.locator("[name=experiment]").press("Enter");
await page.waitForFunction((count) => document.querySelectorAll("tbody tr").length === count, rows);
// The newest first: of a file, the second, the one that was watched, the hostile one.
await page.locator("[name=base]").nth(2).check();
await page.locator("[name=head]").nth(1).check();
const compare = await page.locator("a", { hasText: "Compare" }).getAttribute("href");
const report = await page.locator("tbody tr").nth(2).locator("a").getAttribute("href");
const evil = await page.locator("tbody tr").nth(3).locator("a").getAttribute("href");

const other = await tab();
await other.goto(url + compare);
const compared = await text(other, "main");
await judged(other, "compare");
await other.goto(url + evil);
await other.locator("main").waitFor();
const images = await other.locator("img").count();
await other.goto(url + report);
// A reason is one line; its evidence is folded.
await other.getByText("the rate was changed by hand").click();
const reported = await text(other, "main");
await judged(other, "report");
// A report, whatever is in it, can ask for nothing here.
const asked = await other.evaluate(() => fetch("../api/runs").then((it) => it.status, () => "refused"));
// What the browser says of answers that were asked for on purpose.
said.splice(0, said.length, ...said.filter((line) => !line.includes("Refused to connect") && !line.includes("Connecting to") && !line.includes("Fetch API cannot load") && !line.includes("(Unprocessable Entity)") && !line.includes("(Conflict)")));
await other.close();

// Without the token nothing is shown, and a page of another origin reads nothing and starts nothing.
const stranger = await context.newPage();
const tokenless = await (await stranger.goto(new URL("/", url).href)).text();
await stranger.route("http://evil.example/", (route) => route.fulfill({ contentType: "text/html", body: "<p>evil" }));
await stranger.goto("http://evil.example/");
const stolen = await stranger.evaluate(async ([url, server]) => {
  const body = JSON.stringify({ target: { url: server, options: { duration: "1s" } } });
  await fetch(`${url}api/runs`, { method: "POST", mode: "no-cors", body }).catch(() => {});
  return fetch(`${url}api/runs`).then((it) => it.status, () => "refused");
}, [url, server]);
await stranger.close();
const started = await page.evaluate(() => fetch("api/runs").then(async (it) => (await it.json()).length));

// A history of ten thousand records.
const many = await tab();
await many.route(/api\/history/, async (route) => {
  const limit = Number(new URL(route.request().url()).searchParams.get("limit"));
  const [entry] = await (await route.fetch()).json();
  const id = (index) => String(index).padStart(16, "0");
  await route.fulfill({ json: Array.from({ length: Math.min(limit, 10_000) }, (_, index) => ({ ...entry, id: id(index) })) });
});
await go(many, "history");
const ofMany = [];
for (const count of [200, 1000]) {
  await many.locator("tbody tr").nth(count - 1).waitFor();
  ofMany.push(await many.locator("tbody tr").count());
  await many.locator("button", { hasText: "Show more" }).click();
}
await many.close();

await go(page, "trends");
await page.locator("main p").first().waitFor();
await judged(page, "trends");

// A trend has its numbers in their units, and the newest ones below its chart.
const trending = await tab();
const series = { experiment: "chat", row: "ws", machine: "m", conditions: "c", records: 10, from: "2026-01-01T10:00:00Z", changes: [] };
const trends = [["p50", 1.25e6], ["cpu/message", 72.5], ["memory/connection", 12_288]].map(([metric, now]) => ({ ...series, metric, now }));
await trending.route(/api\/trends/, (route) => route.fulfill({ json: trends }));
const entries = Array.from({ length: 10 }, (_, day) => {
  const row = { name: "ws", conditions: "c", p50_ns: 1e6 + (9 - day) * 30_000, p99_ns: 2.5e6 };
  return { ...series, started_at: `2026-01-${20 - day}T10:00:00Z`, rows: [row] };
});
await trending.route(/api\/history/, (route) => route.fulfill({ json: entries }));
await go(trending, "trends");
await trending.locator(".u-value", { hasText: "1.27 ms" }).waitFor();
const trend = await text(trending, "main section");
await judged(trending, "trend");
await trending.close();

// A view whose answer comes late leaves the next one alone, and so does the answer to a filter that was changed since.
const slow = await tab();
await go(slow, "run");
await slow.locator(".runs").waitFor();
await slow.evaluate(() => {
  window.held = [];
  const own = window.fetch;
  window.fetch = (path, options) => {
    if (!/api\/(form|history|trends)/.test(path)) return own(path, options);
    let go;
    const asked = new Promise((now) => (go = now)).then(() => own(path, options));
    const answer = asked.then(async (answer) => new Response(await answer.text()));
    window.held.push(() => {
      go();
      return answer.catch(() => {});
    });
    return answer;
  };
});
const show = (view) => slow.evaluate((view) => void (location.hash = view), view);
const holds = (count) => slow.waitForFunction((count) => window.held.length >= count, count);
/** Lets all answers come that are held, the last one first, and waits until they are on the page, if they get there. */
const release = () =>
  slow.evaluate(async () => {
    for (const come of window.held.splice(0).reverse()) await come();
    await new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done)));
  });
const content = () => slow.evaluate(() => [...document.querySelectorAll("main > *")].map((it) => `${it.tagName} ${it.className}`.trim()));
const left = [await content()];
for (const [view, count] of [["new", 1], ["history", 2], ["trends", 4]]) {
  await show(view);
  await holds(count);
}
await show("run");
await slow.locator(".runs").waitFor();
await release();
left.push(await content());
await show("history");
await holds(1);
await slow.locator("[name=experiment]").fill("of-a-file");
await slow.locator("[name=experiment]").press("Enter");
await holds(2);
await release();
const newest = await slow.locator("tbody tr").count();
await slow.close();
await context.close();
await browser.close();
console.log(
  JSON.stringify({
    said, foreign, dialogs, tooWide, faults, fields, refused, before, after, firstLines, busy, answer, limited, listed, ofFile, rows,
    markup, images, hostile, filtered, compared, reported, asked,
    late, drawn, ofMany, trend, guarded, tokenless, stolen, started, left, newest,
  }),
);
