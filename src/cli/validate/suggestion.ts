/** Suggests a replacement for a value that does not fit the schema. */

import type { CrdSchema } from "../../api/crd-schema.ts";
import { isFields } from "../../lib/fields.ts";
import { CRD_SCHEMAS } from "../../api/crd-schemas.ts";
import { nearest } from "../../lib/did-you-mean.ts";
import { fieldOf } from "../../policy/validation/schema.ts";
import { meantDuration } from "../command.ts";
import { lookalike, RENDER_FIRST } from "../files/yaml-mistake.ts";
import type { OwnKind } from "../fleet/kinds.ts";
import { isTemplate } from "../fleet/text-fields.ts";
import { stepsOf, valueAt } from "./value-at.ts";

/** `undefined`: nothing is certain enough, or the message says it. */
export function suggestionFor(kind: OwnKind, object: unknown, path: string): string | undefined {
  const value = valueAt(object, stepsOf(path));
  // Looks into the value, then into the name of the field.
  const odd = (typeof value === "string" ? lookalike(value) : undefined) ?? lookalike(path);
  if (odd !== undefined) return `it has ${odd}`;
  if (value === undefined) return undefined;
  if (isTemplate(value)) return RENDER_FIRST;
  const schema = schemaAt(CRD_SCHEMAS[kind], stepsOf(path));
  return schema && toType(schema, value, path);
}

/** What to write in a field that takes another type. */
export function toType(schema: CrdSchema, value: unknown, path: string): string | undefined {
  switch (schema.type) {
    case "integer":
      return typeof value === "number" ? undefined : "write a number, without quotes";
    case "boolean":
      return typeof value === "boolean" ? undefined : "write true or false, without quotes";
    case "string":
      return textOf(schema, value, path);
    case "array":
      return Array.isArray(value) ? undefined : listOf(schema, value);
    case "object":
      return isFields(value) ? undefined : `write a map of its fields${fieldsText(schema)}`;
    default:
      return undefined;
  }
}

const DURATION = /\.(?:duration|after|warnBefore|progressDeadline|minSuccessTime|timeout)$/;

function textOf({ enum: words, format }: CrdSchema, value: unknown, path: string): string | undefined {
  const meant = format === "duration" || DURATION.test(path) ? meantDuration(value) : undefined;
  if (meant !== undefined || typeof value === "string") return meant;
  if (words !== undefined) return `write one word: ${words.join(", ")}`;
  // Of a number, the message says to write it in quotes.
  return typeof value === "object" ? "write one text" : undefined;
}

/** Words that need no quotes in a list in one line. */
const PLAIN = /^[A-Za-z][\w./:=-]*$/;

function listOf({ items }: CrdSchema, value: unknown): string {
  if (typeof value !== "string" || !PLAIN.test(value) || items?.type !== "string")
    return 'write a list: begin each item with "- "';
  const words = items.enum?.filter((word) => typeof word === "string") ?? [];
  return `write a list: [${nearest(value, words) ?? value}]`;
}

function fieldsText({ properties = {} }: CrdSchema): string {
  const names = Object.keys(properties);
  return names.length === 0 ? "" : `: ${names.join(", ")}`;
}

/** Of many places, none is certain enough. */
const MAX_PLACES = 3;

/** The place of a misplaced field; `undefined`: it belongs nowhere, or in many places. */
export function placeOf(kind: OwnKind, field: string): string | undefined {
  const places = placesOf(CRD_SCHEMAS[kind].properties?.["spec"], field, "spec");
  if (places.length > MAX_PLACES) return undefined;
  if (places.length > 0) return `it belongs in ${places.join(", or in ")}`;
  const wider = kind === "HookPolicy" ? CRD_SCHEMAS.ClusterHookPolicy.properties?.["spec"] : undefined;
  if (placesOf(wider, field, "spec").length === 0) return undefined;
  // serviceAccountName for serviceAccount
  const own = Object.keys(CRD_SCHEMAS[kind].properties?.["spec"]?.properties ?? {});
  const instead = own.find((name) => name.startsWith(field));
  return instead === undefined ? FOR_CLUSTER_HOOK_POLICIES : `a HookPolicy has spec.${instead} instead`;
}

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

export function schemaAt(root: CrdSchema, steps: readonly string[]): CrdSchema | undefined {
  let schema: CrdSchema | undefined = root;
  for (const step of steps) {
    schema = schema.items ?? fieldOf(schema, step);
    if (schema === undefined) return undefined;
  }
  return schema;
}
