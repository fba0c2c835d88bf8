// Tabs of a real browser as receivers: Debian's chromium without a window. Each tab is a receiver in a room of the
// relay; it records by its own clock when it gets each message, and asks wirebench for the time through this program.
"use strict";

const http = require("http");
const { once } = require("events");
const { readFileSync } = require("fs");
const { join } = require("path");
const { createInterface } = require("readline");
const { chromium } = require("playwright-core");
const { WebSocketServer } = require("ws");

const roomOf = (number) => `room-${number}`;

const script = (...path) => readFileSync(join(__dirname, ...path), "utf8").replaceAll("</script", "<\\/script");
const OURS = script("page.js");
const LIBRARIES = {
  sockjs: script("node_modules", "sockjs-client/dist/sockjs.min.js"),
  socketio: script("node_modules", "socket.io-client/dist/socket.io.min.js"),
};

// Cross-origin isolated pages have clocks of 5 us instead of 100 us, and load only frames and scripts that allow it.
const ISOLATED = { "cross-origin-opener-policy": "same-origin", "cross-origin-embedder-policy": "require-corp" };

/** Clock exchanges of a tab, before the measurement and after it. */
const EXCHANGES = 25;

/** The callers that wait for the time of wirebench, in order. */
const questions = [];
const time = () =>
  new Promise((resolve) => {
    questions.push(resolve);
    process.stdout.write("clock\n");
  });

const clock = new WebSocketServer({ host: "127.0.0.1", port: 0 });
clock.on("connection", (socket) => socket.on("message", async () => socket.send(await time())));

/** The parts of a URL: the scheme, the host and port of the relay, and its base path. */
function read(url) {
  const [, scheme, place, path] = /^([a-z+-]+):\/\/([^/]+)(.*)$/.exec(url);
  return { scheme, place, base: path.replace(/\/$/, "") };
}

async function openTab(browser, relay, room) {
  // All tabs of one user together have six connections to a host.
  const context = await browser.newContext({ permissions: ["local-network-access"] });
  const page = await context.newPage();
  const library = LIBRARIES[relay.scheme.split("+")[0]] ?? "";
  const body = `<!doctype html><script>${library}</script><script>${OURS}</script>`;
  const headers = /\+(htmlfile|jsonp)$/.test(relay.scheme) ? {} : ISOLATED;
  await page.route("**/*", (route) => route.fulfill({ headers, contentType: "text/html; charset=utf-8", body }));
  await page.goto(`http://${relay.place}/`);
  await page.unroute("**/*");
  await page.evaluate((told) => openReceiver(told), { ...relay, room: roomOf(room) });
  return { page, relay, room, exchanges: [] };
}

/** Compares the clocks of the tabs with that of wirebench, one after the other. */
async function compareClocks(tabs) {
  const url = `ws://127.0.0.1:${clock.address().port}`;
  for (const { page, exchanges } of tabs) {
    exchanges.push(...(await page.evaluate(([url, count]) => exchange(url, count), [url, EXCHANGES])));
  }
}

async function receive(browser, { url, rooms, receivers }) {
  const relay = read(url);
  const opening = [];
  for (let room = 0; room < rooms; room += 1) {
    for (let count = 0; count < receivers; count += 1) opening.push(openTab(browser, relay, room));
  }
  const tabs = await Promise.all(opening);
  await compareClocks(tabs);
  console.log("receiving");
  return tabs;
}

/** Publishes the end mark: a message published before it in the room arrives before it does, or never. */
async function publishEnd({ place, base }, room) {
  const request = http.request(`http://${place}${base}/publish?room=${roomOf(room)}`, { method: "POST" });
  request.end("end");
  const [response] = await once(request, "response");
  response.resume();
  await once(response, "end");
  if (response.statusCode !== 200) throw new Error(`the end mark was answered by ${response.statusCode}`);
}

async function stop(tabs, { time_ns }) {
  for (const room of new Set(tabs.map((tab) => tab.room))) await publishEnd(tabs[0].relay, room);
  await Promise.all(tabs.map(({ page }) => page.evaluate((ms) => endOrTimeOut(ms), time_ns / 1e6)));
  await compareClocks(tabs);
  for (const { page, room, exchanges } of tabs) {
    const { end, transport, resolution, messages, errors } = await page.evaluate(() => report());
    console.log(`receiver ${room} ${end} ${resolution} ${transport}`);
    print("exchange_ns", exchanges, 900);
    print("message", messages, 1000);
    for (const words in errors) console.log(`error ${errors[words]} ${words.replace(/\s+/g, " ")}`);
  }
  await Promise.all(tabs.map(({ page }) => page.context().close()));
  console.log("done");
}

/** Prints words after a name, `each` of them on a line. */
function print(name, words, each) {
  for (let from = 0; from < words.length; from += each) console.log(name, words.slice(from, from + each).join(" "));
}

async function main() {
  const browser = await chromium.launch({
    executablePath: process.env.WIREBENCH_CHROMIUM || "/usr/bin/chromium",
    // The sandbox does not start for root, and the browser opens nothing but the page of the relay.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
  });
  console.log(`ready chromium ${browser.version()}`);
  let tabs = [];
  let done = Promise.resolve();
  const lines = createInterface({ input: process.stdin });
  lines.on("line", (line) => {
    const [command, ...words] = line.trim().split(/\s+/);
    const value = (key, text) => (key === "url" ? text : Number(text));
    const told = Object.fromEntries(words.map((word) => word.split("=")).map(([key, text]) => [key, value(key, text)]));
    if (command === "clock") questions.shift()(words[0]);
    else if (command === "receive") done = done.then(async () => (tabs = await receive(browser, told)));
    else if (command === "stop") done = done.then(() => stop(tabs, told));
    else if (command === "run") console.log("unsupported messages of its own: it receives in rooms");
  });
  await once(lines, "close");
  await browser.close();
  clock.close();
}

main();
