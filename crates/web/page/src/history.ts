// Records in short, with filters; two of them side by side.

import { element, failed, fetched, newest, table } from "./dom";
import { shown } from "../../../report/web/src/number";

export interface Row {
  name: string;
  target: string;
  verdict: string;
  conditions: string;
  p50_ns: number | null;
  p99_ns: number | null;
  messages_per_s: number | null;
}

export interface Entry {
  id: string;
  tags: string[];
  baselines: string[];
  started_at: string;
  kind: string;
  experiment: string;
  machine: string;
  version: string;
  verdict: string;
  rows: Row[];
}

const FILTERS: [string, string][] = [["experiment", "Experiment"], ["target", "Target or row"], ["machine", "Machine"], ["tag", "Tag"]];

/** The fields of a filter; `changed` gets the filter as the query of a URL. */
export function filters(changed: (query: URLSearchParams) => void): HTMLElement {
  const verdicts = ["", "trusted", "degraded", "invalid"].map((name) => element("option", { value: name }, name || "any"));
  const tell = (event: Event): void => {
    event.preventDefault();
    const query = new URLSearchParams();
    for (const [name, value] of new FormData(own)) if (value !== "") query.set(name, String(value));
    changed(query);
  };
  const own: HTMLFormElement = element(
    "form",
    { class: "fields panel", role: "search", onsubmit: tell, onchange: tell },
    ...FILTERS.map(([name, label]) => element("label", {}, label, element("input", { name, autocomplete: "off" }))),
    element("label", {}, "Verdict", element("select", { name: "verdict" }, ...verdicts)),
  );
  return own;
}

export async function history(main: HTMLElement, _: string, view: AbortSignal): Promise<void> {
  const list = element("div", { "aria-live": "polite" });
  const chosen: { base: string; head: string } = { base: "", head: "" };
  const compare = element("a", { class: "button", target: "_blank", rel: "noopener" }, "Compare");
  const hint = element("span", { class: "soft" }, "");
  let limit = FIRST;
  let query = new URLSearchParams();
  const begin = newest(view);

  const chosenNow = (): void => {
    const both = chosen.base !== "" && chosen.head !== "" && chosen.base !== chosen.head;
    if (both) compare.href = `records/${chosen.base}/to/${chosen.head}`;
    else compare.removeAttribute("href");
    compare.setAttribute("aria-disabled", String(!both));
    hint.textContent = both ? "" : "choose a base and a record";
  };
  const choice = (which: "base" | "head", entry: Entry): HTMLElement => {
    const words = `${which === "base" ? "Base" : "Record"}: ${entry.experiment}, ${time(entry)}`;
    return element("input", {
      type: "radio",
      name: which,
      "aria-label": words,
      checked: chosen[which] === entry.id,
      onchange: () => {
        chosen[which] = entry.id;
        chosenNow();
      },
    });
  };
  const load = async (): Promise<void> => {
    const signal = begin();
    try {
      const asked = new URLSearchParams([...query, ["limit", String(limit + 1)]]);
      const entries = await fetched<Entry[]>(`api/history?${asked}`, signal);
      const more = entries.length > limit;
      const rows = entries.slice(0, limit).map((entry) => row(entry, choice));
      const head = ["base", "record", "started", "experiment", "measured", "p50", "p99", "messages", "verdict", "tags"];
      const next = (): void => {
        limit *= 5;
        void load();
      };
      list.replaceChildren(
        rows.length === 0 ? element("p", {}, "No record is like that.") : table("Records, the newest first", head, rows),
        more ? element("button", { type: "button", onclick: next }, "Show more") : element("p", { class: "soft" }, `${rows.length} records`),
      );
    } catch (error) {
      if (!signal.aborted) list.replaceChildren(failed(error));
    }
  };
  chosenNow();
  main.append(
    filters((asked) => {
      [query, limit] = [asked, FIRST];
      void load();
    }),
    element("p", { class: "actions" }, compare, " ", hint),
    list,
  );
  await load();
}

function row(entry: Entry, choice: (which: "base" | "head", entry: Entry) => HTMLElement): HTMLElement {
  const [only] = entry.rows.length === 1 ? entry.rows : [];
  const number = (value: number | null | undefined, unit: "time" | "per_second"): string =>
    value === null || value === undefined ? "" : shown(unit, value);
  const names = [...entry.baselines.map((name) => `=${name}`), ...entry.tags].join(" ");
  const cells = [
    choice("base", entry),
    choice("head", entry),
    element("a", { href: `records/${entry.id}`, target: "_blank", rel: "noopener" }, time(entry)),
    entry.experiment,
    only === undefined ? `${entry.rows.length} rows` : only.target,
    number(only?.p50_ns, "time"),
    number(only?.p99_ns, "time"),
    number(only?.messages_per_s, "per_second"),
    element("span", { class: `verdict ${entry.verdict}` }, entry.verdict),
    names,
  ];
  return element("tr", {}, ...cells.map((cell) => element("td", {}, cell)));
}

function time(entry: Entry): string {
  return entry.started_at.slice(0, 19).replace("T", " ");
}

/** The records that are shown first. */
const FIRST = 200;
