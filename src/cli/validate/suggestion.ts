/** Suggests a replacement for a value that does not fit the schema. */

import type { CrdSchema } from "../../api/crd-schema.ts";
import { CRD_SCHEMAS } from "../../api/crd-schemas.ts";
import { nearest } from "../../lib/did-you-mean.ts";
import { fieldOf } from "../../policy/validation/schema-errors.ts";
import { meantDuration } from "../command.ts";
import { lookalike, RENDER_FIRST } from "../files/yaml-mistake.ts";
import type { OwnKind } from "../fleet/kinds.ts";
import { isTemplate } from "../fleet/text-fields.ts";
import { stepsOf, valueAt } from "../../lib/field-path.ts";

/** `undefined`: nothing is certain enough, or the message says it. */
export function suggestionFor(kind: OwnKind, object: unknown, path: string): string | undefined {
  const value = valueAt(object, stepsOf(path));
  // Looks into the value, then into the name of the field.
  const odd = (typeof value === "string" ? lookalike(value) : undefined) ?? lookalike(path);
  if (odd !== undefined) return `it has ${odd}`;
  if (isTemplate(value)) return RENDER_FIRST;
  const schema = schemaAt(CRD_SCHEMAS[kind], stepsOf(path));
  if (schema?.type === "array") return listOf(schema, value);
  return schema !== undefined && DURATION.test(path) ? meantDuration(value) : undefined;
}

const DURATION = /\.(?:duration|after|warnBefore|progressDeadline|minSuccessTime|timeout)$/;

/** Words that need no quotes in a list in one line. */
const PLAIN = /^[A-Za-z][\w./:=-]*$/;

function listOf({ items }: CrdSchema, value: unknown): string | undefined {
  if (typeof value !== "string" || !PLAIN.test(value) || items?.type !== "string") return undefined;
  const words = items.enum?.filter((word) => typeof word === "string") ?? [];
  return `write a list: [${nearest(value, words) ?? value}]`;
}

function schemaAt(root: CrdSchema, steps: readonly string[]): CrdSchema | undefined {
  let schema: CrdSchema | undefined = root;
  for (const step of steps) {
    schema = schema.items ?? fieldOf(schema, step);
    if (schema === undefined) return undefined;
  }
  return schema;
}

/** Of many places, none is certain enough. */
const MAX_PLACES = 3;

/** The place of a misplaced field; `undefined`: it belongs nowhere, or in many places. */
export function fieldPlace(kind: OwnKind, field: string): string | undefined {
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
