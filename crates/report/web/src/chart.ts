// One chart that moves, in the place of its static drawing.

import uPlot from "uplot";
import type { Chart, Mark, Point, Series } from "./data";
import type { Group } from "./group";
import { colour, dashes, variable, width } from "./look";
import { range, shown, tick, ticks } from "./number";

export class LiveChart {
  readonly #chart: Chart;
  readonly #group: Group;
  readonly #figure: HTMLElement;
  readonly #holder: HTMLElement;
  readonly #readout: HTMLElement;
  readonly #plot: uPlot;
  readonly #xs: number[];
  readonly #hiddenSubjects = new Set<number>();
  readonly #hiddenMeasures = new Set<number>();
  #at: number | null = null;

  constructor(chart: Chart, figure: HTMLElement, holder: HTMLElement, group: Group) {
    this.#chart = chart;
    this.#group = group;
    this.#figure = figure;
    this.#holder = holder;
    this.#xs = [...new Set(chart.series.flatMap((series) => series.points.map((point) => point.x)))].sort((a, b) => a - b);
    this.#readout = document.createElement("div");
    this.#readout.className = "readout";
    this.#readout.hidden = true;
    this.#plot = new uPlot(this.#options(), this.#data(), holder);
    holder.append(this.#readout);
    holder.tabIndex = 0;
    holder.setAttribute("role", "group");
    holder.setAttribute("aria-label", `${chart.title}. Arrow keys move the cursor through the charts.`);
    holder.addEventListener("keydown", (event) => this.#key(event));
    holder.addEventListener("focus", () => this.#readout.setAttribute("role", "status"));
    holder.addEventListener("blur", () => this.#readout.removeAttribute("role"));
    holder.addEventListener("mouseleave", () => group.move(null));
    new ResizeObserver(() => this.#plot.setSize(this.#size())).observe(holder);
    figure.classList.add("live");
    this.#switches();
  }

  /** Puts the cursor to the point next to `x`. */
  point(x: number | null): void {
    const index = x === null ? null : nearest(this.#xs, x);
    const at = index === null ? undefined : this.#xs[index];
    this.#at = at === undefined ? null : (index as number);
    const left = at === undefined ? -10 : this.#plot.valToPos(at, "x");
    this.#plot.setCursor({ left, top: at === undefined ? -10 : 0 });
    this.#read(at);
  }

  showSubject(subject: number, on: boolean): void {
    switched(this.#hiddenSubjects, subject, on);
    this.#figure
      .querySelector(`.legend button[data-subject="${subject}"][data-measure=""]`)
      ?.setAttribute("aria-pressed", String(on));
    this.#applyVisibility();
  }

  /** Draws anew in the colours of now. */
  repaint(): void {
    this.#plot.redraw(false);
  }

  #applyVisibility(): void {
    this.#chart.series.forEach((series, index) => {
      this.#plot.setSeries(index + 1, { show: this.#isShown(series) });
    });
    this.#read(this.#at === null ? undefined : this.#xs[this.#at]);
  }

  #isShown(series: Series): boolean {
    return !this.#hiddenSubjects.has(series.subject) && !this.#hiddenMeasures.has(series.measure);
  }

  #key(event: KeyboardEvent): void {
    if (event.ctrlKey || event.altKey || event.metaKey) return;
    const last = this.#xs.length - 1;
    const steps: Record<string, number | null> = {
      ArrowLeft: this.#at === null ? last : Math.max(0, this.#at - 1),
      ArrowRight: this.#at === null ? 0 : Math.min(last, this.#at + 1),
      Home: 0,
      End: last,
      Escape: null,
    };
    const to = steps[event.key];
    if (to === undefined) return;
    event.preventDefault();
    this.#group.move(to === null ? null : (this.#xs[to] ?? null));
  }

  /** The entries of the legend become switches. */
  #switches(): void {
    for (const entry of this.#figure.querySelectorAll<HTMLElement>(".legend li")) {
      const { subject = "", measure = "" } = entry.dataset;
      const button = document.createElement("button");
      button.type = "button";
      button.dataset["subject"] = subject;
      button.dataset["measure"] = measure;
      button.setAttribute("aria-pressed", "true");
      button.append(...entry.childNodes);
      button.addEventListener("click", () => {
        const on = button.getAttribute("aria-pressed") !== "true";
        if (measure === "") {
          this.#group.toggle(Number(subject), on);
        } else {
          button.setAttribute("aria-pressed", String(on));
          switched(this.#hiddenMeasures, Number(measure), on);
          this.#applyVisibility();
        }
      });
      entry.append(button);
    }
  }

  /** What lies under the cursor, as text. */
  #read(x: number | undefined): void {
    this.#readout.replaceChildren();
    this.#readout.hidden = x === undefined;
    if (x === undefined) return;
    const { subjects, measures, series } = this.#chart;
    const table = document.createElement("table");
    const isMatrix = subjects.length > 1 && measures.length > 1;
    const head = row(table);
    cell(head, "th", shown(this.#chart.x.unit, x));
    if (isMatrix) {
      subjects.forEach((name, subject) => {
        if (!this.#hiddenSubjects.has(subject)) cell(head, "th", name).className = `c${subject % 7} tinted`;
      });
    }
    const value = (subject: number, measure: number): string => {
      const line = series.find((one) => one.subject === subject && one.measure === measure);
      const point = line?.points.find((one) => one.x === x);
      return point === undefined ? "-" : shown(this.#chart.y.unit, point.y);
    };
    const across = subjects.map((_, subject) => subject).filter((subject) => !this.#hiddenSubjects.has(subject));
    const down = measures.map((_, measure) => measure).filter((measure) => !this.#hiddenMeasures.has(measure));
    if (isMatrix) {
      for (const measure of down) {
        const line = row(table);
        cell(line, "th", measures[measure] ?? "");
        for (const subject of across) cell(line, "td", value(subject, measure));
      }
    } else {
      for (const subject of across) {
        for (const measure of down) {
          const text = value(subject, measure);
          if (text === "-" && across.length > 6) continue;
          const line = row(table);
          const name = subjects.length > 1 ? subjects[subject] : measures[measure];
          cell(line, "th", name ?? "").className = `c${this.#look(subject, measure) % 7} tinted`;
          cell(line, "td", text);
        }
      }
    }
    this.#readout.append(table);
    const isRight = this.#plot.valToPos(x, "x") > this.#plot.over.clientWidth / 2;
    this.#readout.classList.toggle("to-left", isRight);
  }

  /** The colour of the line with this number, from 1. */
  #tint(line: number): string {
    const one = this.#chart.series[line - 1];
    return colour(one === undefined ? 0 : this.#look(one.subject, one.measure));
  }

  /** What gives a line its colour and dashes: its subject or, of an only one, its measure. */
  #look(subject: number, measure: number): number {
    return this.#chart.subjects.length > 1 ? subject : measure;
  }

  /** The lines that have their name at their end: as `Chart::ends` of `chart.rs` has them. */
  #named(): Series[] {
    const { subjects, measures, series, strip } = this.#chart;
    const named = series.filter((one, index) =>
      subjects.length > 1 ? series.findIndex((other) => other.subject === one.subject) === index : measures.length > 1,
    );
    return named.length > (strip ? 6 : 15) ? [] : named;
  }

  /** The lines that have a band between them: as `Chart::bands` of `chart.rs` has them, if both are shown. */
  #bands(): [Series, Series][] {
    const { subjects, series, band } = this.#chart;
    if (!band) return [];
    const line = (subject: number, measure: number): Series | undefined =>
      series.find((one) => one.subject === subject && one.measure === measure && this.#isShown(one));
    return subjects.flatMap((_, subject): [Series, Series][] => {
      const [one, other] = [line(subject, 0), line(subject, 1)];
      return one === undefined || other === undefined ? [] : [[one, other]];
    });
  }

  #name({ subject, measure }: Series): string {
    const { subjects, measures } = this.#chart;
    return (subjects.length > 1 ? subjects[subject] : measures[measure]) ?? "";
  }

  #data(): uPlot.AlignedData {
    const columns = this.#chart.series.map((series) => {
      const byX = new Map(series.points.map((point) => [point.x, point.y]));
      return this.#xs.map((x) => byX.get(x) ?? null);
    });
    return [this.#xs, ...columns];
  }

  #size(): { width: number; height: number } {
    const wide = Math.max(240, this.#holder.clientWidth);
    return { width: wide, height: this.#chart.strip ? 150 : Math.min(360, Math.max(240, Math.round(wide * 0.58))) };
  }

  #options(): uPlot.Options {
    const { x, y, series, ideal, marks } = this.#chart;
    const few = this.#xs.length <= 60;
    const xMax = Math.max(0, ...this.#xs, ...marks.map((mark) => mark.high)) * 1.02 || 1;
    const isLogarithmic = y.scale === "logarithmic";
    const named = this.#named();
    const lineNames = named.map((one) => this.#name(one));
    const axis = {
      stroke: () => variable("--soft"),
      grid: { stroke: () => variable("--grid"), width: 1 },
      ticks: { show: false },
      font: "12px system-ui, sans-serif",
      labelFont: "12px system-ui, sans-serif",
      labelSize: 18,
    };
    return {
      ...this.#size(),
      // Beside the plot there is room for the names of lines, as far as the page is wide.
      padding: [8, (plot) => Math.max(24, Math.min(roomOf(plot, lineNames), this.#size().width * 0.3)), 0, 0],
      legend: { show: false },
      cursor: {
        drag: { x: false, y: false },
        y: false,
        points: { size: 8, stroke: (_, index) => this.#tint(index), fill: (_, index) => this.#tint(index) },
      },
      scales: {
        x: {
          time: false,
          distr: x.scale === "logarithmic" ? 3 : 1,
          range: x.scale === "logarithmic" ? range(x, this.#xs[0] ?? 1, xMax / 1.02) : [0, xMax],
        },
        y: {
          distr: isLogarithmic ? 3 : 1,
          range: (_, min, max) => range(y, min, ideal ? xMax : max),
        },
      },
      axes: [
        {
          ...axis,
          label: x.label,
          size: 26,
          labelGap: 2,
          splits: (_, __, min, max) => ticks(x, min, max),
          values: (plot, splits) => spaced(plot, splits, (value) => tick(x.unit, value)),
        },
        {
          ...axis,
          label: y.label,
          size: 58,
          splits: (_, __, min, max) => ticks(y, min, max),
          values: (_, splits) => splits.map((value) => tick(y.unit, value)),
          filter: (_, splits) => splits,
        },
      ],
      series: [
        {},
        ...series.map(({ subject, measure }) => ({
          stroke: () => colour(this.#look(subject, measure)),
          width: width(measure),
          dash: dashes(this.#look(subject, measure)),
          spanGaps: true,
          points: {
            show: few,
            size: 6,
            width: 1.4,
            stroke: () => colour(this.#look(subject, measure)),
            fill: () => (measure === 2 ? variable("--paper") : colour(this.#look(subject, measure))),
          },
        })),
      ],
      hooks: {
        setCursor: [
          (plot) => {
            const at = plot.cursor.idx;
            const left = plot.cursor.left ?? -1;
            this.#group.move(at == null || left < 0 ? null : (this.#xs[at] ?? null));
          },
        ],
        drawAxes: [
          (plot) => {
            for (const lines of this.#bands()) between(plot, lines, this.#look(lines[0].subject, 0));
            for (const mark of marks) if (!this.#hiddenSubjects.has(mark.subject)) band(plot, mark);
            if (ideal) diagonal(plot);
          },
        ],
        draw: [
          (plot) => {
            for (const one of series) if (this.#isShown(one)) intervals(plot, one.points, colour(this.#look(one.subject, one.measure)));
            if (this.#chart.names_marks) names(plot, marks.filter((mark) => !this.#hiddenSubjects.has(mark.subject)));
            const ends = named.filter((one) => this.#isShown(one));
            namesOfLines(plot, ends.map((one) => [this.#name(one), colour(this.#look(one.subject, one.measure)), one.points]));
          },
        ],
      },
    };
  }
}

function row(table: HTMLTableElement): HTMLTableRowElement {
  return table.insertRow();
}

/** A cell with `text` in it, which is never markup. */
function cell(line: HTMLTableRowElement, kind: "td" | "th", text: string): HTMLElement {
  const made = document.createElement(kind);
  made.textContent = text;
  line.append(made);
  return made;
}

function switched(hidden: Set<number>, index: number, on: boolean): void {
  if (on) hidden.delete(index);
  else hidden.add(index);
}

/** The index of what is next to `x` in `xs`, which rise. */
function nearest(xs: readonly number[], x: number): number | null {
  let best: number | null = null;
  xs.forEach((candidate, index) => {
    if (best === null || Math.abs(candidate - x) < Math.abs((xs[best] ?? 0) - x)) best = index;
  });
  return best;
}

/** Labels of ticks without those that would lie over their neighbours. */
function spaced(plot: uPlot, splits: number[], label: (value: number) => string): string[] {
  let freeFrom = -Infinity;
  return splits.map((value) => {
    const text = label(value);
    const [middle, half] = [plot.valToPos(value, "x"), text.length * 3.6 + 4];
    if (middle - half < freeFrom) return "";
    freeFrom = middle + half;
    return text;
  });
}

function inPlot(plot: uPlot, draw: (context: CanvasRenderingContext2D, ratio: number) => void): void {
  const { ctx, bbox } = plot;
  ctx.save();
  ctx.beginPath();
  ctx.rect(bbox.left, bbox.top, bbox.width, bbox.height);
  ctx.clip();
  draw(ctx, devicePixelRatio);
  ctx.restore();
}

function band(plot: uPlot, mark: Mark): void {
  inPlot(plot, (context, ratio) => {
    const [low, at, high] = [mark.low, mark.at, mark.high].map((x) => plot.valToPos(x, "x", true)) as [number, number, number];
    const { top, height } = plot.bbox;
    context.fillStyle = context.strokeStyle = colour(mark.subject);
    context.globalAlpha = 0.18;
    context.fillRect(low, top, Math.max(1, high - low), height);
    context.globalAlpha = 1;
    context.lineWidth = 1.4 * ratio;
    context.setLineDash(dashes(mark.subject).map((length) => length * ratio));
    line(context, [at, top], [at, top + height]);
  });
}

/** The area between two lines. */
function between(plot: uPlot, [one, other]: readonly [Series, Series], look: number): void {
  inPlot(plot, (context) => {
    context.fillStyle = colour(look);
    context.globalAlpha = 0.18;
    context.beginPath();
    for (const { x, y } of [...one.points, ...[...other.points].reverse()]) {
      context.lineTo(plot.valToPos(x, "x", true), plot.valToPos(y, "y", true));
    }
    context.fill();
  });
}

function diagonal(plot: uPlot): void {
  inPlot(plot, (context, ratio) => {
    const { x, y } = plot.scales;
    const start = Math.max(x?.min ?? 0, y?.min ?? 0);
    const end = Math.min(x?.max ?? 0, y?.max ?? 0);
    context.strokeStyle = variable("--soft");
    context.lineWidth = 1.5 * ratio;
    context.setLineDash([2 * ratio, 3 * ratio]);
    const place = (value: number): [number, number] => [plot.valToPos(value, "x", true), plot.valToPos(value, "y", true)];
    line(context, place(start), place(end));
  });
}

function intervals(plot: uPlot, points: readonly Point[], stroke: string): void {
  inPlot(plot, (context, ratio) => {
    context.strokeStyle = stroke;
    context.lineWidth = 1.4 * ratio;
    for (const { x, interval } of points) {
      if (interval === null) continue;
      const across = plot.valToPos(x, "x", true);
      const [from, to] = interval.map((y) => plot.valToPos(y, "y", true)) as [number, number];
      if (from - to > 6 * ratio) line(context, [across, from], [across, to]);
    }
  });
}

function names(plot: uPlot, marks: readonly Mark[]): void {
  inPlot(plot, (context, ratio) => {
    setLetters(context, ratio);
    marks.forEach((mark, index) => {
      const at = plot.valToPos(mark.at, "x", true);
      const { left, top, width, height } = plot.bbox;
      const rows = Math.max(1, Math.floor(height / (16 * ratio)));
      const wide = context.measureText(mark.label).width;
      // To its left where there is room, else to its right as far as that goes.
      const isLeft = at - left > wide + 8 * ratio;
      const from = isLeft ? at - 5 * ratio - wide : Math.min(at + 5 * ratio, left + width - wide - 2 * ratio);
      write(context, mark.label, colour(mark.subject), [from, top + (9 + (index % rows) * 16) * ratio]);
    });
  });
}

/** The pixels between a plot and the names of its lines. */
const NAME_GAP = 7;
/** The pixels that the edge of a letter is wide, as `write` draws it. */
const EDGE = 3;

/** The pixels beside a plot in which the longest of `lineNames` is not cut. */
function roomOf(plot: uPlot, lineNames: readonly string[]): number {
  const { ctx: context } = plot;
  context.save();
  setLetters(context, 1);
  const widths = lineNames.map((name) => context.measureText(name).width);
  context.restore();
  return NAME_GAP + Math.max(0, ...widths) + EDGE;
}

/**
 * Names of lines, with their colours, one below the other beside the plot; a thin line leads from the end of a line to
 * its name. One that has no room there is cut.
 */
function namesOfLines(plot: uPlot, lines: [string, string, readonly Point[]][]): void {
  const { ctx: context, bbox } = plot;
  const ratio = devicePixelRatio;
  const all = lines.flatMap(([name, tint, points]) => {
    const end = points.at(-1);
    return end === undefined ? [] : [{ name, tint, x: plot.valToPos(end.x, "x", true), y: plot.valToPos(end.y, "y", true) }];
  });
  all.sort((one, other) => one.y - other.y);
  const heights = spread(all.map(({ y }) => y), bbox.top + bbox.height, 14 * ratio);
  const right = bbox.left + bbox.width;
  const from = right + NAME_GAP * ratio;
  context.save();
  all.forEach(({ name, tint, x, y }, index) => {
    const height = heights[index] ?? 0;
    context.setLineDash([]);
    context.strokeStyle = tint;
    context.lineWidth = 0.7 * ratio;
    context.globalAlpha = 0.6;
    line(context, [x, y], [right, y]);
    line(context, [right, y], [right + 5 * ratio, height]);
    context.globalAlpha = 1;
    setLetters(context, ratio);
    const fits = (text: string): boolean => from + context.measureText(text).width <= context.canvas.width;
    let text = name;
    while (!fits(text) && text.length > 1) text = `${text.slice(0, text.endsWith("…") ? -2 : -1)}…`;
    write(context, text, tint, [from, height]);
  });
  context.restore();
}

/** Places at `wanted`, which rise, or as far off as keeps each below the one before it and above `bottom`. */
function spread(wanted: readonly number[], bottom: number, distance: number): number[] {
  let least = -Infinity;
  const down = wanted.map((place) => {
    const at = Math.max(place, least);
    least = at + distance;
    return at;
  });
  let most = bottom;
  return down.reverse().map((place) => {
    const at = Math.min(place, most);
    most = at - distance;
    return at;
  }).reverse();
}

function setLetters(context: CanvasRenderingContext2D, ratio: number): void {
  context.font = `600 ${12 * ratio}px system-ui, sans-serif`;
  context.lineWidth = EDGE * ratio;
  context.lineJoin = "round";
  context.textBaseline = "middle";
  context.textAlign = "left";
}

/** Writes `text` with an edge in the colour of the page, so that it can be read on lines. */
function write(context: CanvasRenderingContext2D, text: string, tint: string, place: [number, number]): void {
  context.setLineDash([]);
  context.strokeStyle = variable("--paper");
  context.strokeText(text, ...place);
  context.fillStyle = tint;
  context.fillText(text, ...place);
}

function line(context: CanvasRenderingContext2D, from: [number, number], to: [number, number]): void {
  context.beginPath();
  context.moveTo(...from);
  context.lineTo(...to);
  context.stroke();
}
