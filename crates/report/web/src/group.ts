// Charts that share their x axis: one cursor moves in all of them, and a subject is shown in all or in none.

import type { LiveChart } from "./chart";

export class Group {
  readonly #charts: LiveChart[] = [];
  #moving = false;

  add(chart: LiveChart): void {
    this.#charts.push(chart);
  }

  /** Puts the cursor of all charts to the point next to `x`; away with it if that is null. */
  move(x: number | null): void {
    // A chart that is told to move tells so itself.
    if (this.#moving) return;
    this.#moving = true;
    for (const chart of this.#charts) chart.point(x);
    this.#moving = false;
  }

  /** Shows or hides a subject everywhere. */
  toggle(subject: number, on: boolean): void {
    for (const chart of this.#charts) chart.showSubject(subject, on);
  }
}
