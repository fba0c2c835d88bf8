// What the page hands over: the charts as `chart.rs` has them.

export type Unit = "bytes_per_second" | "nines" | "per_second" | "seconds" | "share" | "time";
export type Scale = "linear" | "logarithmic";

export interface Axis {
  readonly label: string;
  readonly unit: Unit;
  readonly scale: Scale;
}

export interface Point {
  readonly x: number;
  readonly y: number;
  readonly interval: readonly [number, number] | null;
}

export interface Series {
  readonly subject: number;
  readonly measure: number;
  readonly points: readonly Point[];
}

export interface Mark {
  readonly subject: number;
  readonly label: string;
  readonly at: number;
  readonly low: number;
  readonly high: number;
}

export interface Chart {
  readonly id: string;
  readonly title: string;
  readonly group: string;
  readonly x: Axis;
  readonly y: Axis;
  readonly subjects: readonly string[];
  readonly measures: readonly string[];
  readonly series: readonly Series[];
  readonly marks: readonly Mark[];
  readonly band: boolean;
  readonly ideal: boolean;
  readonly names_marks: boolean;
  readonly strip: boolean;
}

/** The charts of this page. */
export function charts(): Chart[] {
  const text = document.getElementById("charts-data")?.textContent ?? "[]";
  return JSON.parse(text) as Chart[];
}
