/** Suggests a replacement for a value that does not fit the schema. */

import type { CrdSchema } from "../../api/crd-schema.ts";
import { type Fields, isFields } from "../../lib/fields.ts";
import { CRD_SCHEMAS } from "../../api/crd-schemas.ts";
import { parseDuration } from "../../lib/duration.ts";
import { nearest } from "../../lib/did-you-mean.ts";
import { fieldOf, fits } from "../../policy/validation/schema.ts";
import { isLocal } from "../../policy/window/moment.ts";
import { meantDuration, meantMoment } from "../meant-time.ts";
import { lookalike, RENDER_FIRST } from "../files/yaml-mistake.ts";
import type { OwnKind } from "../fleet/kinds.ts";
import { isTemplate } from "../fleet/text-fields.ts";
import { exampleFor, PLAIN, scalar } from "./field-example.ts";
import { stepsOf, valueAt } from "./value-at.ts";

/** `undefined`: nothing is certain enough. */
export function suggestionFor(kind: OwnKind, object: unknown, path: string): string | undefined {
  const value = valueAt(object, stepsOf(path));
  // Looks into the value, then into the name of the field.
  const odd = (typeof value === "string" ? lookalike(value) : undefined) ?? lookalike(path);
  if (odd !== undefined) return `it has ${odd}`;
  if (value === undefined) return undefined;
  if (isTemplate(value)) return RENDER_FIRST;
  if (/\.window\.(?:allow|deny)\[\d+\]$/.test(path)) return windowEntry(value);
  const schema = schemaAt(CRD_SCHEMAS[kind], stepsOf(path));
  return schema === undefined ? labelOf(CRD_SCHEMAS[kind], path, value) : toType(schema, value, path);
}

/** Finds a label directly below a selector, where the selector of a Service has it. */
function labelOf(root: CrdSchema, path: string, value: unknown): string | undefined {
  const steps = stepsOf(path);
  const selector = schemaAt(root, steps.slice(0, -1));
  if (selector?.properties?.["matchLabels"] === undefined) return undefined;
  if (isFields(value)) return `write matchLabels instead of ${steps.at(-1)}`;
  if (typeof value !== "string") return undefined;
  return `write matchLabels: { ${steps.at(-1)}: ${scalar(value)} }`;
}

export function toType(schema: CrdSchema, value: unknown, path: string): string | undefined {
  return converted(schema, value, path) ?? exampleFor(schema, value, path);
}

function converted(schema: CrdSchema, value: unknown, path: string): string | undefined {
  switch (schema.type) {
    case "integer":
      return typeof value === "string" ? wholeNumber(value, path) : undefined;
    case "boolean":
      return value === "true" || value === "false" ? `write ${value}, without quotes` : undefined;
    case "string":
      return textOf(schema, value, path);
    case "array":
      return listOf(schema, value);
    case "object":
      return mapOf(schema, value, path);
    default:
      return undefined;
  }
}

const ENTRY_FORMS = [
  {
    schedule: 'when it begins, such as schedule: "0 22 * * FRI"',
    duration: "how long it lasts, such as duration: 8h",
  },
  { from: "its begin", to: "its end" },
] as const;

/** A date beside the one that is there. */
function example(field: string, { from, to }: Fields): string {
  if (field !== "from" && field !== "to") return "";
  const [known, days] = field === "to" ? [from, 2] : [to, -2];
  const day = typeof known === "string" && isLocal(known.slice(0, 10)) ? known.slice(0, 10) : "2026-11-26";
  const near = new Date(Date.parse(day) + days * DAY_MS).toISOString().slice(0, 10);
  return `, such as ${field}: ${near}`;
}

const DAY_MS = 86_400_000;

function windowEntry(value: unknown): string | undefined {
  if (typeof value === "string") return `write a map: { schedule: ${JSON.stringify(value)}, duration: 8h }`;
  if (!isFields(value)) return undefined;
  const forms = ENTRY_FORMS.map((form) => ({
    there: Object.keys(form).filter((field) => Object.hasOwn(value, field)),
    missing: Object.entries(form).filter(([field]) => !Object.hasOwn(value, field)),
  }));
  const begun = forms.filter(({ there }) => there.length > 0);
  if (begun.length > 1) {
    const surplus = forms.find(({ missing }) => missing.length > 0 && missing.length < 2)?.there;
    return surplus === undefined
      ? 'write two entries: begin the second one with "- "'
      : `remove ${surplus.join(" and ")}`;
  }
  const [form] = begun;
  const [field, meaning] = form?.missing[0] ?? [];
  return field === undefined ? undefined : `add ${field}: ${meaning}${example(field, value)}`;
}

/** The place of a misplaced field at the path; `undefined`: it belongs nowhere, or in several places. */
export function placeOf(kind: OwnKind, field: string, path = ""): string | undefined {
  if (kind === "HookRollout" && field === "wait") return SOAKS;
  const places = placesOf(CRD_SCHEMAS[kind].properties?.["spec"], field, "spec");
  if (places.length > 0) return oneOfPlaces(places, path.slice(0, -field.length - 1));
  const wider = kind === "HookPolicy" ? CRD_SCHEMAS.ClusterHookPolicy.properties?.["spec"] : undefined;
  return placesOf(wider, field, "spec").length === 0 ? undefined : FOR_CLUSTER_HOOK_POLICIES;
}

/** What to say of a field that a ClusterHookPolicy has at this path, with a value that it could have there. */
export function onlyFleetWide(path: string, value: unknown): string | undefined {
  const schema = schemaAt(CRD_SCHEMAS.ClusterHookPolicy, stepsOf(path));
  return schema !== undefined && fits(schema, value) ? FOR_CLUSTER_HOOK_POLICIES : undefined;
}

/** Of several places only those below the parent are likely, and only few of them help. */
function oneOfPlaces(places: readonly string[], parent: string): string | undefined {
  const written = parent.replaceAll(/\[\d+\]/g, "[]").replace("until[].anyOf[]", "until[]");
  const below = places.filter((place) => place.startsWith(`${written}.`));
  const likely = below.length > 0 ? below : places.length === 1 ? places : [];
  return likely.length === 0 || likely.length > 2 ? undefined : `it belongs in ${likely.join(", or in ")}`;
}

const SOAKS = "the stage before has minSuccessTime for that";
const FOR_CLUSTER_HOOK_POLICIES =
  "a HookPolicy is about its own namespace: remove the field, or make it a ClusterHookPolicy";

function placesOf(schema: CrdSchema | undefined, field: string, path: string): readonly string[] {
  if (schema === undefined) return [];
  if (schema.items !== undefined) return placesOf(schema.items, field, `${path}[]`);
  const { properties = {} } = schema;
  const below = Object.entries(properties).flatMap(([name, each]) =>
    name === "anyOf" ? [] : placesOf(each, field, `${path}.${name}`),
  );
  return Object.hasOwn(properties, field) ? [path, ...below] : below;
}

function textOf(schema: CrdSchema, value: unknown, path: string): string | undefined {
  if (/\.window\.(?:allow|deny)\[\d+\]\.(?:from|to)$/.test(path)) return meantMoment(value);
  return schema.format === "duration" || isDuration(path) ? meantDuration(value) : undefined;
}

export function schemaAt(root: CrdSchema, steps: readonly string[]): CrdSchema | undefined {
  let schema: CrdSchema | undefined = root;
  for (const step of steps) {
    schema = schema.items ?? fieldOf(schema, step);
    if (schema === undefined) return undefined;
  }
  return schema;
}

function wholeNumber(text: string, path: string): string | undefined {
  if (/^\d{1,9}$/.test(text)) return `write ${Number(text)}, without quotes`;
  const ms = path.endsWith("Seconds") ? parseDuration(text) : undefined;
  return ms === undefined ? undefined : `write ${ms / 1000}: the number of seconds`;
}

function isDuration(path: string): boolean {
  return /\.(?:duration|after|warnBefore|progressDeadline|minSuccessTime|timeout)$/.test(path);
}

function listOf({ items }: CrdSchema, value: unknown): string | undefined {
  if (isFields(value)) return 'write a list: begin each item with "- "';
  if (typeof value !== "string" || !PLAIN.test(value)) return undefined;
  if (items?.type === "object") return undefined;
  const words = items?.enum?.filter((word) => typeof word === "string") ?? [];
  return `write a list: [${nearest(value, words) ?? value}]`;
}

function mapOf(schema: CrdSchema, value: unknown, path: string): string | undefined {
  const hasKeys = schema.additionalProperties !== undefined;
  if (Array.isArray(value)) {
    const pairs = hasKeys ? mapOfPairs(value) : undefined;
    return pairs ?? (value.every(isFields) ? 'write a map: leave out "- "' : undefined);
  }
  if (typeof value !== "string" || value === "") return undefined;
  if (hasKeys) return mapOfPairs([value]);
  const field = onlyText(schema);
  // An item of a list needs more than its name.
  return field === undefined || path.endsWith("]")
    ? undefined
    : `write a map: { ${field}: ${scalar(value)} }`;
}

function onlyText({ properties = {}, required = [] }: CrdSchema): string | undefined {
  const [field, another] = required;
  if (field === undefined || another !== undefined) return undefined;
  return properties[field]?.type === "string" ? field : undefined;
}

function mapOfPairs(items: readonly unknown[]): string | undefined {
  const pairs = items.map((item) =>
    typeof item === "string" ? /^([^\s:=]+)[:=]([^\s:=]*)$/.exec(item) : null,
  );
  if (items.length === 0 || !pairs.every((pair) => pair !== null)) return undefined;
  return `write a map: { ${pairs.map((pair) => `${pair[1]}: ${scalar(pair[2] ?? "")}`).join(", ")} }`;
}
