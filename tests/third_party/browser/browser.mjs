// A real browser for tests. Their scripts begin with
//
//     const { launch } = await import(process.env.BROWSER);
//
// and close what it gives them, or node does not end.

import { chromium } from "playwright-core";

/** Debian's chromium without a window; `options` are those of playwright's `launch`. */
export function launch(options = {}) {
  return chromium.launch({
    executablePath: process.env.CHROMIUM || "/usr/bin/chromium",
    // The sandbox does not start for root, and the tests open nothing but our own pages.
    args: ["--no-sandbox", "--disable-dev-shm-usage"],
    ...options,
  });
}
