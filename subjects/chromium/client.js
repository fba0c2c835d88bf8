// A real browser's WebSocket: Debian's chromium without a window. A page runs the block, and is asked for its results.
"use strict";

const { createServer } = require("http");
const { execFileSync } = require("child_process");
const { once } = require("events");
const { mkdirSync, mkdtempSync, rmSync } = require("fs");
const { tmpdir } = require("os");
const { join } = require("path");
const { chromium } = require("playwright-core");
const { settings, answer } = require("./node/client.js");
const { cpuOfChildren } = require("./processes.js");

// Cross-origin isolated pages have clocks of 5 us instead of 100 us.
const isolated = {
  "content-type": "text/html",
  "cross-origin-opener-policy": "same-origin",
  "cross-origin-embedder-policy": "require-corp",
};

/** A home folder for the browser, with the authority that it is to trust. */
function home(authority) {
  const home = mkdtempSync(join(tmpdir(), "wirebench-chromium-"));
  process.on("exit", () => rmSync(home, { recursive: true, force: true }));
  const keys = join(home, ".pki/nssdb");
  mkdirSync(keys, { recursive: true });
  const certutil = (...words) => execFileSync("certutil", ["-d", `sql:${keys}`, ...words]);
  certutil("-N", "--empty-password");
  certutil("-A", "-n", "authority", "-t", "C,,", "-i", authority);
  return home;
}

async function main() {
  const server = createServer((request, response) => response.writeHead(200, isolated).end("<!doctype html>"));
  await once(server.listen(0, "127.0.0.1"), "listening");
  const browser = await chromium.launch({
    executablePath: process.env.WIREBENCH_CHROMIUM || "/usr/bin/chromium",
    // The sandbox does not start for root, and the browser opens nothing but its own page and our server.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
    env: { ...process.env, ...(settings.ca && { HOME: home(process.env.WIREBENCH_CA) }) },
  });
  const page = await browser.newPage();
  let moment;
  await page.exposeFunction("moment", (name) => moment(name));
  await page.goto(`http://127.0.0.1:${server.address().port}/`);
  await page.addScriptTag({ path: join(__dirname, "node/block.js") });
  await page.addScriptTag({ path: join(__dirname, "page.js") });

  const [payload, expect] = [settings.payload.toString("base64"), settings.expect.toString("base64")];
  const told = { ...settings, ca: undefined, payload, expect };
  const run = (plan, ofBlock) => {
    moment = ofBlock;
    return page.evaluate(([told, plan]) => runInPage(told, plan), [told, plan]);
  };
  await answer("chromium", browser.version(), run, cpuOfChildren);
  await browser.close();
  server.close();
}

main();
