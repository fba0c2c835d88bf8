// The page of `wirebench ui`. The part of the address after `#` names the view that is shown.

import "../node_modules/uplot/dist/uPlot.min.css";
import "./style.css";
import { element, failed, later } from "./dom";
import { history } from "./history";
import { form } from "./form";
import { live, runs } from "./live";
import { trends } from "./trends";

/** Fills `main`, and returns the function that ends the view. */
export type View = (main: HTMLElement, rest: string) => Promise<(() => void) | void> | (() => void) | void;

const VIEWS: Record<string, [string, View]> = {
  new: ["New run", form],
  run: ["Runs", (main, rest) => (rest === "" ? runs(main) : live(main, rest))],
  history: ["History", history],
  trends: ["Trends", trends],
};

let end: (() => void) | void;
let shows = 0;

async function show(): Promise<void> {
  const [name = "", rest = ""] = location.hash.slice(1).split("/");
  const [title, view] = VIEWS[name] ?? VIEWS["new"]!;
  end?.();
  end = undefined;
  for (const link of document.querySelectorAll<HTMLAnchorElement>("nav a")) {
    if (link.hash === `#${VIEWS[name] ? name : "new"}`) link.setAttribute("aria-current", "page");
    else link.removeAttribute("aria-current");
  }
  document.title = `${title} · wirebench`;
  const main = document.getElementById("main")!;
  main.replaceChildren(element("h1", {}, title));
  shows += 1;
  const own = shows;
  try {
    const ends = await view(main, rest);
    if (own === shows) end = ends;
    else ends?.();
  } catch (error) {
    if (own === shows) main.append(failed(error));
  }
}

addEventListener("hashchange", () => {
  void show();
  document.getElementById("main")!.focus({ preventScroll: true });
});
// Colours of charts are read when they are drawn.
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", () => later("repaint"));
void show();
