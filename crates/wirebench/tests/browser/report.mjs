// Reports in a real browser: `report.mjs SWEEP HOSTILE RUN IMPORTED RATIOS…` opens the first three pages from their
// files, with scripts and without, judges all but the hostile one, and prints what came of it as JSON.

import { readFileSync } from "node:fs";
import { createRequire } from "node:module";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";

const { launch } = await import(process.env.BROWSER);
const axe = readFileSync(createRequire(process.env.BROWSER).resolve("axe-core/axe.min.js"), "utf8");
const [sweep, hostile, run, imported, ...ratios] = process.argv.slice(2);
const FOUR = ["throughput", "cpu", "response", "bandwidth"];
const browser = await launch();

/** Opens a page, lets `look` look at it, and adds what the page did besides. */
async function opened(path, options, look) {
  const context = await browser.newContext({ viewport: { width: 1280, height: 900 }, ...options });
  const page = await context.newPage();
  const [said, requests, dialogs] = [[], [], []];
  page.on("console", (message) => said.push(message.text()));
  page.on("pageerror", (error) => said.push(error.message));
  page.on("request", (request) => requests.push(request.url()));
  page.on("dialog", (dialog) => {
    dialogs.push(dialog.message());
    dialog.dismiss();
  });
  const url = pathToFileURL(path).href;
  await page.goto(url);
  // Without scripts there is nothing to wait for, and no way to.
  if (options.javaScriptEnabled !== false) await drawn(page);
  const seen = await look(page);
  const others = requests.filter((request) => request !== url);
  await context.close();
  return { ...seen, said, requests: others, dialogs };
}

/** Waits until what was told is on the screen. */
const drawn = (page) =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** How much of the page there is, with or without scripts. */
const inventory = (page) =>
  page.evaluate(() => {
    const isShown = (element) => element.getClientRects().length > 0;
    const painted = (canvas) => {
      // A copy, because reading changes how a canvas is kept.
      const copy = new OffscreenCanvas(canvas.width, canvas.height).getContext("2d", { willReadFrequently: true });
      copy.drawImage(canvas, 0, 0);
      const { data } = copy.getImageData(0, 0, canvas.width, canvas.height);
      return data.filter((value, index) => index % 4 === 3 && value > 0).length;
    };
    const canvases = [...document.querySelectorAll(".plot canvas")];
    return {
      figures: document.querySelectorAll("figure").length,
      drawings: [...document.querySelectorAll("svg.chart")].filter(isShown).length,
      tables: document.querySelectorAll("table").length,
      canvases: canvases.length,
      paintedLeast: canvases.length > 0 ? Math.min(...canvases.map(painted)) : 0,
      tooWide: document.documentElement.scrollWidth > innerWidth,
    };
  });

/** What the cursors of the four charts say: the first cell of each. */
const cursors = (page) =>
  page.evaluate(
    (four) =>
      four.map((id) => {
        const readout = document.querySelector(`#${id} .readout`);
        return readout.hidden ? "" : readout.querySelector("th").textContent;
      }),
    FOUR,
  );

const chart = (page) => page.locator("#throughput .plot").screenshot();

async function lookAtSweep(page) {
  const whole = await inventory(page);
  const light = await chart(page);
  await page.emulateMedia({ colorScheme: "dark" });
  await drawn(page);
  const dark = await chart(page);
  await page.emulateMedia({ colorScheme: "light" });

  // Tab alone leads to the list of lines, and from there to its first switch.
  const focused = () => page.evaluate(() => document.activeElement.closest(".lines")?.parentElement.id ?? "");
  let tabs = 0;
  while ((await focused()) === "" && tabs++ < 50) await page.keyboard.press("Tab");
  await page.keyboard.press("Space");
  await page.keyboard.press("Tab");
  const outline = await page.evaluate(() => getComputedStyle(document.activeElement).outlineStyle);
  await page.keyboard.press("Space");
  const pressed = () =>
    page.evaluate(
      (four) => four.map((id) => document.querySelector(`#${id} .lines button`).getAttribute("aria-pressed")),
      FOUR,
    );
  const switchedOff = await pressed();
  await page.keyboard.press("Space");
  const switchedOn = await pressed();

  await page.focus("#throughput .plot");
  const keys = {};
  for (const key of ["ArrowRight", "ArrowRight", "End", "ArrowLeft", "Home", "Escape"]) {
    await page.keyboard.press(key);
    keys[`${Object.keys(keys).length} ${key}`] = await cursors(page);
  }
  await page.hover("#cpu .u-over", { position: { x: 200, y: 50 } });
  const hover = await cursors(page);
  await page.setViewportSize({ width: 320, height: 700 });
  await drawn(page);
  const narrow = await inventory(page);
  return { ...whole, colours: !light.equals(dark), outline, switchedOff, switchedOn, keys, hover, narrow };
}

async function lookAtHostile(page) {
  await page.focus("#throughput .plot");
  await page.keyboard.press("End");
  const whole = await inventory(page);
  const found = await page.evaluate(() => ({
    images: document.images.length,
    scripts: document.scripts.length,
    isShown: document.body.innerText.includes("<img src=x onerror="),
    readout: document.querySelector("#throughput .readout").textContent,
  }));
  return { ...whole, ...found };
}

/** The number of ratios on a page, and those that are not in sight beside their names. */
const ratiosIn = (page) =>
  page.evaluate(() => {
    const all = [...document.querySelectorAll("td.answer")].filter((cell) => cell.getClientRects().length > 0);
    const isHidden = (cell) => {
      const [name, own] = [cell.parentElement.firstElementChild, cell].map((it) => it.getBoundingClientRect());
      return name.left < 0 || name.right > own.left || own.right > innerWidth || cell.scrollWidth > cell.clientWidth;
    };
    return { count: all.length, hidden: all.filter(isHidden).map((cell) => cell.parentElement.textContent) };
  });

/** What holds for every page: it fits, and axe finds nothing serious in it; and the pages that it is printed on. */
async function judge(page) {
  const faults = [];
  let ratios = 0;
  await page.evaluate(axe);
  for (const [colorScheme, width] of [["light", 1280], ["dark", 400]]) {
    await page.emulateMedia({ colorScheme });
    await page.setViewportSize({ width, height: 900 });
    await drawn(page);
    const { tooWide } = await inventory(page);
    if (tooWide) faults.push(`it does not fit into ${width}`);
    const { count, hidden } = await ratiosIn(page);
    ratios = count;
    faults.push(...hidden.map((row) => `the ratio is out of sight at ${width}: ${row}`));
    const { violations } = await page.evaluate(() => axe.run());
    const serious = violations.filter(({ impact }) => impact === "serious" || impact === "critical");
    faults.push(...serious.map(({ id, nodes }) => `${id} at ${width}, ${colorScheme}: ${nodes[0].html.slice(0, 200)}`));
  }
  // As wide as A4 without its margins.
  await page.emulateMedia({ media: "print" });
  await page.setViewportSize({ width: 710, height: 1040 });
  await drawn(page);
  if ((await inventory(page)).tooWide) faults.push("it is cut off on paper");
  const told = await page.evaluate(() => {
    const all = [...document.querySelectorAll(".again :is(dl, .remark)")];
    return { all: all.length, onPaper: all.filter((it) => it.getClientRects().length > 0).length };
  });
  if (told.onPaper < told.all) faults.push("facts or failures of the first page are not on paper");
  const paper = await page.pdf({ format: "A4" });
  const printed = paper.toString("latin1").match(/\/Type\s*\/Page\b/g)?.length ?? 0;
  return { faults, printed, ratios, told: told.onPaper };
}

async function lookAtRun(page) {
  return inventory(page);
}

try {
  const still = { javaScriptEnabled: false };
  for (const path of [sweep, run, imported, ...ratios]) {
    const { faults, printed, ratios: shown, told, said, requests, dialogs } = await opened(path, {}, judge);
    const wrong = [...faults, ...said, ...requests, ...dialogs];
    // That which was measured just now has as many reasons for doubt as the machine gave it.
    if (path !== run && printed > 2) wrong.push(`it is printed on ${printed} pages`);
    if ([imported, ratios[0]].includes(path) && told === 0) wrong.push("it tells nothing on paper");
    if (ratios.includes(path) && shown === 0) wrong.push("it has no ratio");
    if (wrong.length > 0) throw new Error(`${basename(path)}: ${wrong.join("; ")}`);
  }
  const narrow = { ...still, viewport: { width: 400, height: 900 } };
  const result = {
    stillNarrow: await opened(sweep, narrow, inventory),
    sweep: await opened(sweep, {}, lookAtSweep),
    still: await opened(sweep, still, inventory),
    stillHostile: await opened(hostile, still, inventory),
    hostile: await opened(hostile, {}, lookAtHostile),
    run: await opened(run, {}, lookAtRun),
  };
  console.log(JSON.stringify(result));
} finally {
  await browser.close();
}
