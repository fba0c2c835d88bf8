// The trend of each row: its numbers from record to record, and the records at which their level changed.

import { element, failed, fetched, newest } from "./dom";
import { type Entry, filters } from "./history";
import { line } from "./plot";
import { shown } from "../../../report/web/src/number";

interface Trend {
  experiment: string;
  row: string;
  machine: string;
  conditions: string;
  metric: string;
  records: number;
  from: string;
  now: number;
  changes: { id: string; at: string; before: number; after: number; with: { what: string; from: string; to: string }[] }[];
}

export async function trends(main: HTMLElement, _: string, view: AbortSignal): Promise<void> {
  const list = element("div", { "aria-live": "polite" });
  const begin = newest(view);
  const load = async (query: URLSearchParams): Promise<void> => {
    const signal = begin();
    try {
      const [all, entries] = await Promise.all([
        fetched<Trend[]>(`api/trends?${query}`, signal),
        fetched<Entry[]>(`api/history?${query}`, signal),
      ]);
      const keys = [...new Set(all.map(key))];
      list.replaceChildren(...keys.map((own) => panel(all.filter((trend) => key(trend) === own), entries, signal)));
      if (keys.length === 0) {
        list.append(element("p", {}, "A trend needs ten records of the same row, load and machine; there are fewer."));
      }
    } catch (error) {
      if (!signal.aborted) list.replaceChildren(failed(error));
    }
  };
  main.append(filters((query) => void load(query)), list);
  await load(new URLSearchParams());
}

function key(trend: Trend): string {
  return JSON.stringify([trend.experiment, trend.row, trend.machine, trend.conditions]);
}

function panel(all: Trend[], entries: Entry[], signal: AbortSignal): HTMLElement {
  const [first] = all;
  if (first === undefined) return element("section");
  const points = entries
    .filter((entry) => entry.experiment === first.experiment && entry.machine === first.machine)
    .flatMap((entry) => entry.rows.filter((row) => row.name === first.row && row.conditions === first.conditions).map((row) => ({ entry, row })))
    .reverse();
  const plot = element("div", { class: "plot" });
  const times = points.map(({ entry }) => Date.parse(entry.started_at) / 1000);
  const series: [string, (number | null)[]][] = [
    ["p50", points.map(({ row }) => row.p50_ns)],
    ["p99", points.map(({ row }) => row.p99_ns)],
  ];
  const chart = line(plot, { unit: "time", labels: series.map(([name]) => name), log: true, isDate: true }, signal);
  chart.set([times, ...series.map(([, values]) => values)]);
  return element(
    "section",
    { class: "panel", "aria-label": `${first.experiment}, ${first.row}` },
    element("h2", {}, `${first.experiment}, ${first.row}`),
    element("p", { class: "soft" }, first.machine),
    plot,
    element("dl", {}, ...all.flatMap((trend) => [element("dt", {}, trend.metric), element("dd", {}, ...lines(trend))])),
  );
}

function lines(trend: Trend): HTMLElement[] {
  const value = (number: number): string => {
    if (trend.metric.startsWith("p")) return shown("time", number);
    if (trend.metric.includes("messages")) return shown("per_second", number);
    if (trend.metric.startsWith("cpu")) return shown("time", number * 1e3);
    const [unit, name] = number < 2 ** 20 ? [2 ** 10, "KiB"] : [2 ** 20, "MiB"];
    return `${Number((number / unit).toPrecision(3))} ${name}`;
  };
  const count = trend.changes.length === 1 ? "1 change" : `${trend.changes.length} changes`;
  const since = `${value(trend.now)} now; ${count} in ${trend.records} records since ${trend.from.slice(0, 10)}`;
  const changes = [...trend.changes].reverse().map((change) => {
    const why = change.with.map(({ what, from, to }) => `; ${what} ${from.slice(0, 12)} -> ${to.slice(0, 12)}`).join("");
    return `${change.at.slice(0, 10)} from ${change.id.slice(0, 8)} on: ${value(change.before)} -> ${value(change.after)}${why}`;
  });
  return [since, ...changes].map((text) => element("div", {}, text));
}
