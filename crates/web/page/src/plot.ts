// A chart of lines over time, which grows while a run goes on.

import uPlot from "uplot";
import { type Unit } from "../../../report/web/src/data";
import { colour, dashes, variable } from "../../../report/web/src/look";
import { shown, tick } from "../../../report/web/src/number";

export interface Look {
  unit: Unit;
  labels: string[];
  log: boolean;
  isDate?: boolean;
}

export interface Plot {
  set: (data: (number | null)[][]) => void;
}

/** A chart in `holder`, until the signal is aborted. */
export function line(holder: HTMLElement, look: Look, signal: AbortSignal): Plot {
  const font = `12px ${getComputedStyle(holder).fontFamily}`;
  const axis = { stroke: () => variable("--soft"), grid: { stroke: () => variable("--grid"), width: 1 }, font };
  const size = (): { width: number; height: number } => ({ width: Math.max(holder.clientWidth, 200), height: 220 });
  // Without a cursor the legend has the newest numbers.
  const newest = (plot: uPlot): void => {
    const last = plot.data[0].length - 1;
    if (last >= 0 && typeof plot.cursor.idx !== "number") plot.setLegend({ idx: last });
  };
  const value = (unit: Unit) => (_: uPlot, number: number | null) => (number === null ? "-" : shown(unit, number));
  const plot = new uPlot(
    {
      ...size(),
      legend: { live: true },
      hooks: { setCursor: [newest] },
      cursor: { y: false, points: { size: 6 } },
      scales: {
        x: { time: look.isDate === true },
        // A logarithmic axis has no place for zero.
        y: look.log ? { distr: 3 } : { range: (_, __, most) => [0, most > 0 ? most * 1.1 : 1] },
      },
      axes: [
        look.isDate === true ? axis : { ...axis, values: (_, all) => all.map((at) => `${at} s`) },
        {
          ...axis,
          size: 62,
          values: (_, all) => all.map((number) => (number === null ? "" : tick(look.unit, number))),
        },
      ],
      series: [
        look.isDate === true ? {} : { label: "time", value: (_, at) => (at === null ? "-" : `${at.toFixed(1)} s`) },
        ...look.labels.map((label, index) => ({
          label,
          stroke: () => colour(index),
          dash: dashes(index),
          width: 2,
          spanGaps: false,
          points: { show: look.isDate === true, size: 5 },
          value: value(look.unit),
        })),
      ],
    },
    [[], ...look.labels.map(() => [])],
    holder,
  );
  const watcher = new ResizeObserver(() => plot.setSize(size()));
  watcher.observe(holder);
  const repaint = (): void => {
    // The legend keeps the colours that it began with.
    plot.root.querySelectorAll<HTMLElement>(".u-series").forEach((row, index) => {
      const marker = row.querySelector<HTMLElement>(".u-marker");
      if (marker && index > 0) marker.style.borderColor = colour(index - 1);
    });
    plot.redraw(false);
  };
  addEventListener("repaint", repaint, { signal });
  signal.addEventListener("abort", () => {
    watcher.disconnect();
    plot.destroy();
  });
  return {
    set: (data) => {
      plot.setData(data as uPlot.AlignedData);
      newest(plot);
    },
  };
}
