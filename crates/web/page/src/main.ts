// The page of `wirebench ui`. The part of the address after `#` names the view that is shown.

import "../node_modules/uplot/dist/uPlot.min.css";
import "./style.css";
import { element, failed, later } from "./dom";
import { history } from "./history";
import { form } from "./form";
import { live, runs } from "./live";
import { trends } from "./trends";

/** Fills `main`. The signal is aborted once another view is shown: it ends all that this one waits for or listens to. */
export type View = (main: HTMLElement, rest: string, signal: AbortSignal) => Promise<void> | void;

const VIEWS: Record<string, [string, View]> = {
  new: ["New run", form],
  run: ["Runs", (main, rest, signal) => (rest === "" ? runs(main, rest, signal) : live(main, rest, signal))],
  history: ["History", history],
  trends: ["Trends", trends],
};

let shown = new AbortController();

async function show(): Promise<void> {
  const [name = "", rest = ""] = location.hash.slice(1).split("/");
  const [title, view] = VIEWS[name] ?? VIEWS["new"]!;
  shown.abort();
  shown = new AbortController();
  const { signal } = shown;
  for (const link of document.querySelectorAll<HTMLAnchorElement>("nav a")) {
    if (link.hash === `#${VIEWS[name] ? name : "new"}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${title} · wirebench`;
  const main = document.getElementById("main")!;
  main.replaceChildren(element("h1", {}, title));
  try {
    await view(main, rest, signal);
  } catch (error) {
    if (!signal.aborted) main.append(failed(error));
  }
}

addEventListener("hashchange", () => {
  void show();
  document.getElementById("main")!.focus({ preventScroll: true });
});
// Colours of charts are read when they are drawn.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => later("repaint"));
void show();
