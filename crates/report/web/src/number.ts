// Numbers as text, and round places on an axis: the same rules as `chart.rs` and `svg.rs`.

import type { Axis, Unit } from "./data";

/** A value of an axis, as short as it can be. */
export function tick(unit: Unit, value: number): string {
  switch (unit) {
    case "bytes_per_second":
      return prefixed(value, [[1e9, " GB"], [1e6, " MB"], [1e3, " kB"], [1, " B"]], trimmed);
    case "nines":
      return percentile(value);
    case "per_second":
      return prefixed(value, [[1e6, " M"], [1e3, " k"], [1, ""]], trimmed);
    case "seconds":
      return `${trimmed(value)} s`;
    case "share":
      return `${trimmed(value * 100)} %`;
    case "time":
      return prefixed(value, TIMES, trimmed);
  }
}

/** A value with three digits and its unit. */
export function shown(unit: Unit, value: number): string {
  switch (unit) {
    case "bytes_per_second":
      return `${prefixed(value, [[1e9, " GB"], [1e6, " MB"], [1e3, " kB"], [1, " B"]], three)}/s`;
    case "nines":
      return percentile(value);
    case "per_second":
      return `${prefixed(value, [[1e6, " M"], [1e3, " k"], [1, ""]], three)}/s`;
    case "seconds":
      return `${three(value)} s`;
    case "share":
      return `${(value * 100).toFixed(1)} %`;
    case "time":
      return prefixed(value, TIMES, three);
  }
}

const TIMES: [number, string][] = [[1e9, " s"], [1e6, " ms"], [1e3, " us"], [1, " ns"]];

function prefixed(value: number, prefixes: [number, string][], write: (value: number) => string): string {
  if (value === 0) return "0";
  const reached = prefixes.find(([unit]) => Math.abs(value) >= unit * 0.9995) ?? prefixes[prefixes.length - 1];
  const [unit, name] = reached ?? [1, ""];
  return `${write(value / unit)}${name}`;
}

function trimmed(value: number): string {
  return String(Number(value.toFixed(2)));
}

function three(value: number): string {
  const size = Math.abs(value);
  return value.toFixed(size < 9.995 ? 2 : size < 99.95 ? 1 : 0);
}

function percentile(nines: number): string {
  const decimals = Math.min(5, Math.max(0, Math.ceil(nines - 1e-9) - 2));
  return `${(100 - 100 * 10 ** -nines).toFixed(decimals)} %`;
}

/** Round ends around what lies between `low` and `high`. */
export function range(axis: Axis, low: number, high: number): [number, number] {
  if (axis.unit === "share") return [0, 1];
  if (axis.scale === "linear") {
    const max = high > 0 ? high : 1;
    const step = roundStep(max / 5);
    return [0, Math.ceil(max / step - 1e-9) * step];
  }
  const decade = (value: number): number => 10 ** Math.floor(Math.log10(value));
  const [least, most] = low > 0 && low <= high ? [low, high] : [1, 10];
  const min = Math.max(...ONE_TWO_FIVE.map((part) => part * decade(least)).filter((edge) => edge <= least * 1.000001));
  const max = [...ONE_TWO_FIVE, 10].map((part) => part * decade(most)).find((edge) => edge >= most * 0.999999) ?? most;
  return [min, max / min < 9.9 ? min * 10 : max];
}

/** Where ticks lie between `min` and `max`. */
export function ticks(axis: Axis, min: number, max: number): number[] {
  if (axis.unit === "nines") {
    const whole = Array.from({ length: Math.max(0, Math.floor(max + 1e-9)) }, (_, index) => index + 1);
    return [0, Math.log10(2), ...whole];
  }
  if (axis.scale === "linear") {
    const step = roundStep((max - min) / 5);
    const count = Math.floor((max - min) / step + 1e-6);
    return Array.from({ length: count + 1 }, (_, index) => min + index * step);
  }
  const parts = Math.log10(max / min) > 3.5 ? [1] : ONE_TWO_FIVE;
  const all: number[] = [];
  for (let decade = 10 ** Math.floor(Math.log10(min) + 1e-9); decade <= max * 1.000001; decade *= 10) {
    all.push(...parts.map((part) => part * decade));
  }
  return all.filter((place) => place >= min * 0.999999 && place <= max * 1.000001);
}

function roundStep(least: number): number {
  const decade = 10 ** Math.floor(Math.log10(least));
  return [1, 2, 5, 10].map((part) => part * decade).find((step) => step >= least * 0.999999) ?? 1;
}

const ONE_TWO_FIVE = [1, 2, 5];
