// Makes the charts of a report move: one cursor through all charts of a group, legends that switch lines.
//
// The page is whole without this. What it adds is drawn from the data that the page carries; every text becomes part of
// the page as text. Start reading at `start`.

import "uplot/dist/uPlot.min.css";
import "./style.css";
import { LiveChart } from "./chart";
import { charts } from "./data";
import { Group } from "./group";

function start(): void {
  const groups = new Map<string, Group>();
  const all: LiveChart[] = [];
  for (const chart of charts()) {
    const figure = document.getElementById(chart.id);
    const holder = figure?.querySelector<HTMLElement>(".plot");
    if (!figure || !holder) continue;
    const group = groups.get(chart.group) ?? new Group();
    groups.set(chart.group, group);
    const live = new LiveChart(chart, figure, holder, group);
    group.add(live);
    all.push(live);
  }
  const repaint = (): void => all.forEach((chart) => chart.repaint());
  matchMedia("(prefers-color-scheme: dark)").addEventListener("change", repaint);
}

start();
