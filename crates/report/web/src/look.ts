// Colours, dashes and widths: read from the page's style sheet, so that light and dark are decided in one place.

/** The colour of a subject as it is now. */
export function colour(subject: number): string {
  return variable(`--c${subject % COLOURS}`);
}

/** A colour of the page as it is now. */
export function variable(name: string): string {
  return getComputedStyle(document.documentElement).getPropertyValue(name).trim();
}

/** The dashes of a subject. Colours and dashes come round at different lengths. */
export function dashes(subject: number): number[] {
  return DASHES[((subject % COLOURS) + Math.floor(subject / COLOURS)) % DASHES.length] ?? [];
}

/** How wide the line of a measure is. */
export function width(measure: number): number {
  return [2.2, 1.3, 1][measure] ?? 1;
}

const COLOURS = 7;
const DASHES = [[], [9, 4], [3, 3], [11, 3, 3, 3], [1, 3], [11, 3, 3, 3, 3, 3]];
