// Elements and requests. Text from elsewhere never becomes markup.

type Child = Node | string | null;
type Attributes = Record<string, string | boolean | ((event: Event) => void)>;

/** An element; an attribute that begins with `on` is a listener, one that is false is left out. */
export function element<K extends keyof HTMLElementTagNameMap>(
  name: K,
  attributes: Attributes = {},
  ...children: Child[]
): HTMLElementTagNameMap[K] {
  const made = document.createElement(name);
  for (const [key, value] of Object.entries(attributes)) {
    if (typeof value === "function") made.addEventListener(key.slice(2), value);
    else if (value !== false) made.setAttribute(key, value === true ? "" : value);
  }
  made.append(...children.filter((child) => child !== null));
  return made;
}

/** The words of an error, for the reader. */
export function failed(error: unknown): HTMLElement {
  const words = error instanceof Error ? error.message : String(error);
  return element("p", { role: "alert", class: "failed" }, words);
}

/** The JSON at `path`. Nothing is given back once the signal is aborted. */
export async function fetched<T>(path: string, signal: AbortSignal): Promise<T> {
  const json = (await (await answered(fetch(path, { signal }))).json()) as T;
  signal.throwIfAborted();
  return json;
}

/** Gives a signal for each of the tasks of a view that follow each other: it is aborted by the next one, and with the view. */
export function newest(view: AbortSignal): () => AbortSignal {
  let last = new AbortController();
  return () => {
    last.abort();
    last = new AbortController();
    return AbortSignal.any([view, last.signal]);
  };
}

/** Posts `body`. */
export async function posted(path: string, body: unknown): Promise<Response> {
  const headers = { "content-type": "application/json" };
  return answered(fetch(path, { method: "POST", headers, body: JSON.stringify(body) }));
}

async function answered(asked: Promise<Response>): Promise<Response> {
  let response: Response;
  try {
    response = await asked;
  } catch {
    throw new Error("wirebench does not answer: is `wirebench ui` still running?");
  }
  if (!response.ok) throw new Error(await response.text());
  return response;
}

/** Tells all views that show something. */
export function later(what: string): void {
  dispatchEvent(new Event(what));
}

/** A table with a head, which scrolls by itself where it does not fit. */
export function table(caption: string, head: Child[], rows: HTMLElement[]): HTMLElement {
  const cells = head.map((text) => element("th", { scope: "col" }, text));
  return element(
    "div",
    { class: "scroll", tabindex: "0", role: "region", "aria-label": caption },
    element("table", {}, element("thead", {}, element("tr", {}, ...cells)), element("tbody", {}, ...rows)),
  );
}
