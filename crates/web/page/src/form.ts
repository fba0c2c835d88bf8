// A new run: the fields that most runs need, and all others, from the JSON Schemas of options and criteria.

import { element, failed, fetched, posted } from "./dom";

interface Schema {
  description?: string;
  type?: string | string[];
  enum?: string[];
  const?: string;
  oneOf?: Schema[];
  anyOf?: Schema[];
  $ref?: string;
  items?: Schema;
  examples?: (string | number)[];
  properties?: Record<string, Schema>;
  $defs?: Record<string, Schema>;
}

/** The options of a run, and the criteria by which it ends and is judged. */
const KINDS = ["options", "criteria"] as const;

/** The fields that stand first, with their labels. */
const COMMON: [string, string, string][] = [
  ["rate", "Rate (open loop)", "2000/s; empty: closed loop"],
  ["connections", "Connections", "50"],
  ["duration", "Duration", "10s"],
  ["size", "Message size", "64B"],
  ["rounds", "Rounds", "1; 6 or more have intervals"],
  ["require", "Limits", "p99 < 20ms"],
];

export async function form(main: HTMLElement, _: string, signal: AbortSignal): Promise<void> {
  const schemas = await fetched<Record<(typeof KINDS)[number], Schema>>("api/form", signal);
  const fields = KINDS.flatMap((kind) => {
    const properties = Object.entries(schemas[kind].properties ?? {});
    return properties.map(([name, schema]) => ({ root: schemas[kind], name, schema }));
  });
  const common = COMMON.flatMap(([known, label, example]) =>
    fields.filter(({ name }) => name === known).map(({ root, name, schema }) => field(root, name, schema, label, example)),
  );
  const isCommon = (name: string): boolean => COMMON.some(([known]) => known === name);
  const rest = fields.filter(({ name }) => !isCommon(name)).map(({ root, name, schema }) => field(root, name, schema, name, ""));
  const problem = element("div", { "aria-live": "assertive" });
  const consent = (): HTMLElement =>
    element(
      "label",
      { class: "check" },
      element("input", { type: "checkbox", name: "consent" }),
      " The target may be a public address, and is mine to load",
    );

  const start = async (event: Event, what: (own: HTMLFormElement) => Promise<object> | object): Promise<void> => {
    event.preventDefault();
    const own = event.currentTarget as HTMLFormElement;
    problem.replaceChildren();
    try {
      const data = new FormData(own);
      const asked = {
        public_allowed: data.get("consent") !== null,
        ...(await what(own)),
      };
      const { number } = (await (await posted("api/runs", asked)).json()) as { number: number };
      // Whoever has gone on to another view stays there.
      if (!signal.aborted) location.hash = `#run/${number}`;
    } catch (error) {
      problem.replaceChildren(failed(error));
    }
  };

  const ofTarget = element(
    "form",
    { class: "panel", onsubmit: (event) => void start(event, target) },
    element("h2", {}, "A server"),
    element(
      "label",
      { class: "wide" },
      "Target",
      element("input", { name: "url", required: true, placeholder: "ws://127.0.0.1:8080/", autocomplete: "off", spellcheck: "false" }),
    ),
    element("div", { class: "fields" }, ...common),
    element("details", {}, element("summary", {}, `All options (${rest.length} more)`), element("div", { class: "fields" }, ...rest)),
    consent(),
    element("button", { type: "submit" }, "Start"),
  );
  const text = element("textarea", { name: "file", rows: "8", spellcheck: "false", placeholder: "[[row]]\nurl = \"ws://127.0.0.1:8080/\"" });
  const choose = element("input", {
    type: "file",
    accept: ".toml,.json",
    onchange: () => void choose.files?.[0]?.text().then((content) => (text.value = content)),
  });
  const ofFile = element(
    "form",
    { class: "panel", onsubmit: (event) => void start(event, (own) => ({ file: { name: String(new FormData(own).get("name") ?? ""), text: text.value } })) },
    element("h2", {}, "An experiment"),
    element("label", { class: "wide" }, "A file in TOML or JSON, or a record to repeat", choose),
    element("label", { class: "wide" }, "Its text", text),
    element("div", { class: "fields" }, named()),
    consent(),
    element("button", { type: "submit" }, "Start the experiment"),
  );
  main.append(problem, ofTarget, ofFile);

  function target(own: HTMLFormElement): object {
    const { options, criteria } = schemas;
    const url = (own.elements.namedItem("url") as HTMLInputElement).value;
    return { target: { url, options: filled(own, options), criteria: filled(own, criteria) } };
  }
}

/** The fields of a schema that are filled in. */
function filled(own: HTMLFormElement, schema: Schema): Record<string, unknown> {
  const values: Record<string, unknown> = {};
  for (const name of Object.keys(schema.properties ?? {})) {
    const input = own.elements.namedItem(`option-${name}`);
    if (input instanceof HTMLInputElement && input.type === "checkbox") {
      if (input.checked) values[name] = true;
    } else if (input instanceof HTMLTextAreaElement) {
      const lines = input.value.split("\n").map((line) => line.trim()).filter((line) => line !== "");
      if (lines.length > 0) values[name] = lines;
    } else if (input instanceof HTMLInputElement || input instanceof HTMLSelectElement) {
      if (input.value.trim() !== "") values[name] = input.value.trim();
    }
  }
  return values;
}

function named(): HTMLElement {
  return element("label", {}, "Name in the history", element("input", { name: "name", placeholder: "page", maxlength: "40", autocomplete: "off" }));
}

/** A field for an option, by its schema. */
function field(root: Schema, name: string, schema: Schema, label: string, example: string): HTMLElement {
  const known = resolved(root, schema);
  const id = `option-${name}`;
  const hint = (schema.description ?? "").split("\n")[0] ?? "";
  const words = label === name ? [label, hint === "" ? null : element("small", {}, hint)] : [label];
  if (known.type === "boolean") {
    return element("label", { class: "check" }, element("input", { type: "checkbox", name: id }), " ", ...words);
  }
  const choices = known.enum ?? known.oneOf?.flatMap((one) => one.enum ?? (one.const === undefined ? [] : [one.const]));
  if (choices !== undefined && choices.length > 0) {
    const options = ["", ...choices].map((choice) => element("option", { value: choice }, choice));
    return element("label", {}, ...words, element("select", { name: id }, ...options));
  }
  const item = itemOf(root, known);
  const first = (item ?? known).examples?.[0];
  const placeholder = example || (first === undefined ? "" : `e.g. ${first}`);
  if (item !== undefined) {
    const title = "one on each line";
    return element("label", {}, ...words, element("textarea", { name: id, rows: "2", title, placeholder, spellcheck: "false" }));
  }
  return element("label", {}, ...words, element("input", { name: id, placeholder, autocomplete: "off", spellcheck: "false" }));
}

/** The schema of the values of a list, where one value may stand without brackets too; nothing for what is no list. */
function itemOf(root: Schema, schema: Schema): Schema | undefined {
  const list = schema.type === "array" ? schema : schema.anyOf?.map((one) => resolved(root, one)).find((one) => one.type === "array");
  return list?.items === undefined ? undefined : resolved(root, list.items);
}

/** A schema without `null`, with its reference followed. */
function resolved(root: Schema, schema: Schema): Schema {
  if (schema.$ref !== undefined) {
    return resolved(root, root.$defs?.[schema.$ref.replace("#/$defs/", "")] ?? {});
  }
  const some = schema.anyOf?.filter((one) => one.type !== "null");
  if (some?.length === 1) return resolved(root, some[0]!);
  if (Array.isArray(schema.type)) return { ...schema, type: schema.type.find((type) => type !== "null") ?? "string" };
  return schema;
}
