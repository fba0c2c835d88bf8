// A run while it goes on, and after it. A page that is opened later gets all its lines too.

import { element, failed, fetched, posted, table } from "./dom";
import { line } from "./plot";
import { heat } from "./heat";
import { shown } from "../../../report/web/src/number";

export interface Interval {
  event: "interval";
  name: string;
  block: number;
  blocks: number;
  phase: string;
  at_s: number;
  due_per_s: number | null;
  has_rate: boolean;
  sent_per_s: number;
  messages_per_s: number;
  p50_ns: number | null;
  p99_ns: number | null;
  lag_p99_ns: number | null;
  in_flight: number | null;
  unsent: number | null;
  generator_cores: number | null;
  server_cores: number | null;
  all: { replies: number; p50_ns: number | null; p99_ns: number | null; p999_ns: number | null; max_ns: number | null; error: number; refused: number; timed_out: number };
  bands: [number, number][];
}

type Told =
  | Interval
  | { event: "machine" | "waiting"; text: string }
  | { event: "begin"; expected_s: number }
  | { event: "block"; name: string; block: number; blocks: number; messages_per_s: number; p50_ns: number | null; p99_ns: number | null; failed: number; reason: string | null }
  | { event: "warning"; text: string; next: string }
  | { event: "record"; id: string; file: string | null; verdict: string; answer: string | null; limits: string[]; reasons: string[] }
  | { event: "over"; code: number | null; words: string };

interface Listed {
  number: number;
  name: string;
  is_over: boolean;
}

/** The runs of this session. */
export async function runs(main: HTMLElement, _: string, signal: AbortSignal): Promise<void> {
  const all = await fetched<Listed[]>("api/runs", signal);
  const items = all.map((run) =>
    element("li", {}, element("a", { href: `#run/${run.number}` }, `${run.number + 1}. ${run.name}`), run.is_over ? " is over" : " goes on"),
  );
  main.append(
    items.length === 0
      ? element("p", {}, "Nothing was started here yet: ", element("a", { href: "#new" }, "start a run"), ".")
      : element("ul", { class: "runs" }, ...items),
  );
}

/** The run of this number. */
export function live(main: HTMLElement, rest: string, signal: AbortSignal): void {
  const number = Number(rest);
  const state = element("p", { class: "state" }, "waiting for the first line");
  const status = element("p", { role: "status", class: "answer" });
  const bar = element("progress", { max: "1", value: "0", "aria-label": "Time of the run" });
  const tiles = element("dl", { class: "tiles" });
  const warnings = element("ul", { class: "warnings", "aria-label": "Warnings" });
  const done = element("div");
  const problem = element("div", { "aria-live": "assertive" });
  const rates = element("div", { class: "plot" });
  const times = element("div", { class: "plot" });
  const strip = element("canvas", { class: "heat", role: "img", "aria-label": "Latency over time: the darker, the more messages took so long" });

  const command = async (path: string, body: unknown): Promise<void> => {
    problem.replaceChildren();
    try {
      await posted(`api/runs/${number}/${path}`, body);
    } catch (error) {
      problem.replaceChildren(failed(error));
    }
  };
  const stop = element("button", { type: "button", class: "stop", onclick: () => void command("stop", {}) }, "Stop");
  const wanted = element("input", { name: "rate", "aria-label": "New rate, for example 2000/s", placeholder: "2000/s", autocomplete: "off" });
  const factor = (by: number) => (): void => {
    const due = last?.due_per_s ?? 0;
    if (due > 0) void command("rate", { rate: `${Math.max(1, Math.round(due * by))}/s` });
  };
  const rate = element(
    "form",
    {
      class: "rate",
      hidden: true,
      onsubmit: (event) => {
        event.preventDefault();
        void command("rate", { rate: wanted.value.trim() });
      },
    },
    element("button", { type: "button", "aria-label": "−10 % of the rate", onclick: factor(1 / 1.1) }, "−10 %"),
    element("button", { type: "button", "aria-label": "+10 % of the rate", onclick: factor(1.1) }, "+10 %"),
    wanted,
    element("button", { type: "submit" }, "Change the rate"),
  );

  main.append(
    state,
    status,
    bar,
    element("div", { class: "actions" }, stop, rate),
    problem,
    tiles,
    warnings,
    element("div", { class: "charts" },
      element("section", { class: "panel", "aria-label": "Messages a second" }, element("h2", {}, "Messages a second"), rates),
      element("section", { class: "panel", "aria-label": "Time of a message" }, element("h2", {}, "Time of a message"), times),
      element("section", { class: "panel wide", "aria-label": "Latency over time" }, element("h2", {}, "Latency over time"), strip)),
    done,
  );

  const ofRates = line(rates, { unit: "per_second", labels: ["answered", "sent", "due"], log: false }, signal);
  const ofTimes = line(times, { unit: "time", labels: ["p50", "p99"], log: true }, signal);
  const ofHeat = heat(strip, signal);
  const all: Interval[] = [];
  const blocks: HTMLElement[] = [];
  let last: Interval | undefined;
  let expected: number | undefined;
  let [isDue, isOver] = [false, false];

  const draw = (): void => {
    if (signal.aborted) return;
    isDue = false;
    const column = (of: (tick: Interval) => number | null): (number | null)[] => all.map(of);
    ofRates.set([column((tick) => tick.at_s), column((tick) => tick.messages_per_s), column((tick) => tick.sent_per_s), column((tick) => tick.due_per_s)]);
    ofTimes.set([column((tick) => tick.at_s), column((tick) => tick.p50_ns), column((tick) => tick.p99_ns)]);
    ofHeat.set(all);
    if (last !== undefined) {
      tiles.replaceChildren(...numbers(last));
      const block = last.blocks > 1 ? `, block ${last.block + 1} of ${last.blocks}` : "";
      if (isOver) return;
      state.textContent = `${last.name}: ${last.phase}${block}, ${last.at_s.toFixed(1)} s`;
      if (expected !== undefined) bar.value = Math.min(1, last.at_s / expected);
    }
  };
  const changed = (): void => {
    if (isDue) return;
    isDue = true;
    // A hidden page is drawn once it is shown.
    requestAnimationFrame(draw);
  };
  addEventListener("repaint", changed, { signal });

  const source = new EventSource(`api/runs/${number}/feed`);
  source.onmessage = (message: MessageEvent<string>) => {
    const told = JSON.parse(message.data) as Told;
    switch (told.event) {
      case "interval":
        all.push(told);
        if (all.length > POINTS_MAX) all.splice(0, all.length - POINTS_MAX);
        last = told;
        rate.hidden = !told.has_rate;
        changed();
        break;
      case "begin":
        expected = (last?.at_s ?? 0) + told.expected_s;
        break;
      case "machine":
      case "waiting":
        if (last === undefined) state.textContent = told.text;
        break;
      case "block": {
        const cells = [told.name, String(told.block + 1), shown("per_second", told.messages_per_s), time(told.p50_ns), time(told.p99_ns), String(told.failed), told.reason ?? ""];
        blocks.push(element("tr", {}, ...cells.map((cell) => element("td", {}, cell))));
        done.replaceChildren(table("Blocks that are over", ["row", "block", "messages", "p50", "p99", "failed", ""], blocks.slice(-BLOCKS_MAX)));
        break;
      }
      case "warning":
        warnings.append(element("li", {}, told.text, told.next === "" ? null : element("small", {}, told.next)));
        break;
      case "record": {
        const report = element("a", { class: "button", href: `records/${told.id}`, target: "_blank", rel: "noopener" }, "Read the report");
        const verdict = element("span", { class: `verdict ${told.verdict}` }, told.verdict);
        const limits = told.limits.map((limit) => element("span", { class: "limit" }, limit));
        status.replaceChildren(...limits, verdict, told.answer === null ? " " : ` ${told.answer} `, report);
        if (told.reasons.length > 0) {
          status.append(element("ul", {}, ...told.reasons.map((reason) => element("li", {}, reason))));
        }
        break;
      }
      case "over":
        source.close();
        isOver = true;
        stop.hidden = true;
        rate.hidden = true;
        bar.value = 1;
        if (last !== undefined) state.textContent = `${last.name}: over after ${last.at_s.toFixed(1)} s`;
        else state.textContent = "over";
        if (told.words.trim() !== "") problem.replaceChildren(failed(told.words.trim()));
    }
  };
  source.onerror = () => {
    // The browser asks again by itself, unless the run does not exist.
    if (source.readyState === EventSource.CLOSED) {
      state.textContent = "there is no such run in this session";
      stop.hidden = true;
    }
  };
  signal.addEventListener("abort", () => source.close());
}

function numbers(tick: Interval): HTMLElement[] {
  const { all } = tick;
  const cores = (value: number | null): string => (value === null ? "unknown" : `${value.toFixed(2)} cores`);
  const failures = [[all.error, "wrong or cut off"], [all.refused, "refused"], [all.timed_out, "timed out"]] as const;
  const failed = failures.filter(([count]) => count > 0).map(([count, name]) => `${count} ${name}`);
  const sent = tick.due_per_s === null ? "" : `${shown("per_second", tick.sent_per_s)} sent of ${shown("per_second", tick.due_per_s)} due`;
  const waiting = tick.in_flight === null ? "" : `, ${tick.in_flight} in flight, ${tick.unsent ?? 0} unsent`;
  const tiles: [string, string, string][] = [
    ["Answered now", shown("per_second", tick.messages_per_s), sent + waiting],
    ["p50 now", time(tick.p50_ns), `in all ${time(all.p50_ns)}`],
    ["p99 now", time(tick.p99_ns), `in all ${time(all.p99_ns)}`],
    ["p99.9 in all", time(all.p999_ns), `longest ${time(all.max_ns)}`],
    ["Failed", failed.length === 0 ? "0" : failed.join(", "), `of ${all.replies} answered`],
    ["CPU", cores(tick.generator_cores), `server ${cores(tick.server_cores)}${tick.lag_p99_ns === null ? "" : `, send lag p99 ${time(tick.lag_p99_ns)}`}`],
  ];
  return tiles.map(([name, value, note]) => element("div", {}, element("dt", {}, name), element("dd", {}, value, element("small", {}, note))));
}

function time(nanos: number | null): string {
  return nanos === null ? "-" : shown("time", nanos);
}

/** The intervals that are drawn: those that the server keeps. */
const POINTS_MAX = 6000;
/** The blocks in the table, the last ones. */
const BLOCKS_MAX = 200;
