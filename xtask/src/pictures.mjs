// Pictures of every page, light and dark, wide and narrow: `pictures.mjs FOLDER UI SERVER REPORT...` opens the reports
// from their files, and the views of `wirebench ui`, where it starts a run against the server.

import { writeFileSync } from "node:fs";
import { basename } from "node:path";
import { pathToFileURL } from "node:url";

const { launch } = await import(process.env.BROWSER);
const [folder, ui, server, ...reports] = process.argv.slice(2);
const browser = await launch();
const QUALITY = 12;
const HEIGHT_MAX = 4000;
const page = await browser.newPage();
const devtools = await page.context().newCDPSession(page);

/** Waits until what was told is on the screen. */
const drawn = () =>
  page.evaluate(() => new Promise((done) => requestAnimationFrame(() => requestAnimationFrame(done))));

/** The top of the page as WebP: all pictures together stay below 3 MB. */
async function picture(name, size, quality) {
  const clip = { x: 0, y: 0, scale: 1, ...size };
  const settings = { format: "webp", quality, captureBeyondViewport: true, clip };
  const { data } = await devtools.send("Page.captureScreenshot", settings);
  writeFileSync(`${folder}/${name}.webp`, Buffer.from(data, "base64"));
}

async function pictures(name) {
  for (const colorScheme of ["light", "dark"]) {
    for (const width of [1280, 400]) {
      await page.emulateMedia({ colorScheme });
      await page.setViewportSize({ width, height: 900 });
      await drawn();
      const { cssContentSize } = await devtools.send("Page.getLayoutMetrics");
      await picture(`${name}-${width}-${colorScheme}`, { width, height: Math.min(cssContentSize.height, HEIGHT_MAX) }, QUALITY);
    }
  }
}

async function view(name) {
  await page.goto(`${ui}#${name}`);
  await page.locator("main h1").waitFor();
}

try {
  for (const report of reports) {
    await page.goto(pathToFileURL(report).href);
    await pictures(`report-${basename(report, ".html")}`);
  }
  // The first screen of the first one, for README.md.
  await page.goto(pathToFileURL(reports[0]).href);
  await page.emulateMedia({ colorScheme: "light" });
  await page.setViewportSize({ width: 1000, height: 880 });
  await drawn();
  await picture("report", { width: 1000, height: 880 }, 90);

  await view("new");
  await pictures("ui-new");
  const form = page.locator("form").first();
  const fields = { url: server, "option-rate": "500/s", "option-connections": "20", "option-duration": "5m" };
  for (const [name, value] of Object.entries(fields)) await form.locator(`[name="${name}"]`).fill(value);
  await form.locator("button[type=submit]").click();
  await page.waitForURL(/#run\/0$/);
  // Enough of it that its charts have something to show.
  await page.locator(".tiles", { hasText: /of \d{4,} answered/ }).waitFor();
  await pictures("ui-running");
  await page.locator("button.stop").click();
  await page.locator("a", { hasText: "Read the report" }).waitFor();
  await pictures("ui-over");
  await view("run");
  await pictures("ui-runs");

  await view("history");
  await page.locator("tbody tr").first().waitFor();
  await pictures("ui-history");
  await page.locator("[name=experiment]").fill("ladder");
  await page.locator("[name=experiment]").press("Enter");
  await page.waitForFunction(() => document.querySelectorAll("tbody tr").length === 2);
  await page.locator("[name=base]").nth(1).check();
  await page.locator("[name=head]").nth(0).check();
  const compare = await page.locator("a", { hasText: "Compare" }).getAttribute("href");
  await view("trends");
  await page.locator("main canvas").first().waitFor();
  await pictures("ui-trends");
  await page.goto(ui + compare);
  await pictures("ui-compare");
} finally {
  await browser.close();
}
