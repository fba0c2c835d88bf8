// Latency over time: a column for each interval, the last ones that there is room for, in each the share of the
// messages that took so long.

import { variable } from "../../../report/web/src/look";
import { tick } from "../../../report/web/src/number";
import type { Interval } from "./live";

export function heat(canvas: HTMLCanvasElement, signal: AbortSignal): { set: (all: Interval[]) => void } {
  let all: Interval[] = [];
  const draw = (): void => {
    const scale = devicePixelRatio;
    const [width, height] = [canvas.clientWidth, canvas.clientHeight];
    canvas.width = width * scale;
    canvas.height = height * scale;
    const context = canvas.getContext("2d");
    if (context === null) return;
    context.scale(scale, scale);
    const columns = Math.floor((width - LABELS) / COLUMN);
    const shown = all.filter((one) => one.bands.length > 0).slice(-columns);
    const edges = [...new Set(shown.flatMap((one) => one.bands.map(([from]) => from)))].sort((a, b) => a - b);
    if (edges.length === 0) return;
    const row = Math.min(24, height / edges.length);
    const top = (index: number): number => height - (index + 1) * row;
    context.font = `11px ${getComputedStyle(canvas).fontFamily}`;
    context.fillStyle = variable("--soft");
    context.textBaseline = "middle";
    edges.forEach((from, index) => {
      context.fillText(from === 0 ? "< 1 us" : tick("time", from), 0, top(index) + row / 2);
    });
    context.fillStyle = variable("--c0");
    shown.forEach((one, at) => {
      const sum = one.bands.reduce((before, [, count]) => before + count, 0);
      for (const [from, count] of one.bands) {
        // A single message is to be seen too.
        context.globalAlpha = 0.12 + 0.88 * Math.sqrt(count / sum);
        context.fillRect(LABELS + at * COLUMN, top(edges.indexOf(from)), COLUMN - 0.5, row - 1);
      }
    });
  };
  // A canvas that only gets another size is stretched.
  const watcher = new ResizeObserver(draw);
  watcher.observe(canvas);
  signal.addEventListener("abort", () => watcher.disconnect());
  return {
    set: (told) => {
      all = told;
      draw();
    },
  };
}

const LABELS = 56;
const COLUMN = 4;
