// A new run: the fields that most runs need, and all others, from the JSON Schema of the options.

import { element, failed, fetched, posted } from "./dom";

interface Schema {
  description?: string;
  type?: string | string[];
  enum?: string[];
  const?: string;
  oneOf?: Schema[];
  anyOf?: Schema[];
  $ref?: string;
  examples?: string[];
  properties?: Record<string, Schema>;
  $defs?: Record<string, Schema>;
}

/** The fields that stand first, with their labels. */
const COMMON: [string, string, string][] = [
  ["rate", "Rate (open loop)", "2000/s; empty: closed loop"],
  ["connections", "Connections", "50"],
  ["duration", "Duration", "10s"],
  ["size", "Message size", "64B"],
];

export async function form(main: HTMLElement): Promise<void> {
  const schema = await fetched<Schema>("api/form");
  const all = Object.entries(schema.properties ?? {});
  const common = COMMON.map(([name, label, example]) => field(schema, name, schema.properties?.[name] ?? {}, label, example));
  const isCommon = (name: string): boolean => COMMON.some(([known]) => known === name);
  const rest = all.filter(([name]) => !isCommon(name)).map(([name, value]) => field(schema, name, value, name, ""));
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
      location.hash = `#run/${number}`;
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
    const options: Record<string, unknown> = {};
    for (const [name] of all) {
      const input = own.elements.namedItem(`option-${name}`) as HTMLInputElement | HTMLSelectElement | null;
      if (input === null) continue;
      if (input instanceof HTMLInputElement && input.type === "checkbox") {
        if (input.checked) options[name] = true;
      } else if (input.value.trim() !== "") {
        const value = input.value.trim();
        options[name] = input.dataset["list"] === undefined ? value : value.split(",").map((part) => part.trim());
      }
    }
    return { target: { url: (own.elements.namedItem("url") as HTMLInputElement).value, options } };
  }
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
  const placeholder = example || (known.examples?.[0] === undefined ? "" : `e.g. ${known.examples[0]}`);
  const input = element("input", { name: id, placeholder, autocomplete: "off", spellcheck: "false" });
  if (known.type === "array") input.dataset["list"] = "";
  return element("label", {}, ...words, input);
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
