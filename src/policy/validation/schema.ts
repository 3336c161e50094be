/**
 * Validates the spec and name of an object like the API server (fieldValidation=Strict): the CRD's schema with ajv,
 * unknown fields, unique lists and CEL rules; rules about changes (oldSelf) are in changeErrors(). The operator validates
 * stored objects again, because they can be older than the CRD; the command line validates without an API server.
 */

import type { ErrorObject, ValidateFunction } from "ajv";
import { DNS_SUBDOMAIN } from "../../lib/dns-names.ts";
import { isWithin, withParents } from "../../lib/field-path.ts";
import { type Fields, isFields, fieldsOf, nonEmptyText } from "../../lib/fields.ts";
import type { CrdSchema } from "../../api/crd-schema.ts";
import { GROUP, CRD_VERSION } from "../../api/hook-policy.ts";
import { CRD_SCHEMAS } from "../../api/crd-schemas.ts";
import { atOnce, type WorkSteps } from "../../lib/work-steps.ts";
import { messageOf } from "../../lib/thrown.ts";
import { isClusterHookPolicy, isHookOverride, isHookPolicy, isHookRollout } from "./crd-validators.ts";
import { type BrokenRule, brokenRules, type FieldPlace } from "./schema-rules.ts";
import { found } from "../../lib/quoted-value.ts";
import { child, fieldOf, placeAt, schemaErrors } from "./schema-errors.ts";

export interface FieldError {
  /** In the API server's notation: spec.rules[0].until[1].annotation.key; "" is the object itself. */
  readonly path: string;
  /** What was found and what is expected, for users. */
  readonly message: string;
  /** A field or value that this version does not know; a newer one may. */
  readonly unknown?: true;
  /** Names a warning, in kebab-case; it never changes. */
  readonly id?: string;
}

export type Kind = keyof typeof CRD_SCHEMAS;

const byPath = new Intl.Collator("en", { numeric: true });
const VALIDATORS: Readonly<Record<Kind, ValidateFunction>> = {
  HookPolicy: isHookPolicy,
  ClusterHookPolicy: isClusterHookPolicy,
  HookOverride: isHookOverride,
  HookRollout: isHookRollout,
};

/**
 * Returns every error in the order of the paths; empty: valid. Never throws for any object (except cycles). CEL rules
 * are evaluated only on values that otherwise fit the schema.
 */
export function validatePolicy(kind: Kind, object: unknown): readonly FieldError[] {
  return atOnce(validateInSteps(kind, object));
}

/** `max`: how many errors per rule. */
export function* validateInSteps(
  kind: Kind,
  object: unknown,
  max = Infinity,
): WorkSteps<readonly FieldError[]> {
  if (!isFields(object)) return [{ path: "", message: `found ${found(object)}, expected an object` }];
  try {
    return yield* validateObject(kind, object, max);
  } catch (error) {
    // For example, a property that throws when it is read: not from JSON or YAML.
    return [{ path: "spec", message: `cannot be validated: ${messageOf(error)}` }];
  }
}

function* validateObject(kind: Kind, object: Fields, max: number): WorkSteps<FieldError[]> {
  const schema = CRD_SCHEMAS[kind];
  const { status: _, ...input } = normalise(schema, object);
  yield;
  const places = placesOf({ schema, value: input, path: "" });
  yield;
  const misfits = firstOfEachRule([...misfitsOf(kind, input), ...places.flatMap(duplicates)], max);
  const unsound = new Set(misfits.flatMap(({ path }) => withParents(path)));
  const sound = places.filter(({ path }) => !unsound.has(path));
  const errors = [
    ...typeErrors(kind, input),
    ...nameErrors(input["metadata"]),
    ...misfits,
    ...(yield* ruleErrors(sound)),
  ];
  return errors.toSorted((a, b) => byPath.compare(a.path, b.path));
}

/** A rule that is not evaluable because of a value below, which breaks a rule itself, says nothing more. */
function* ruleErrors(places: readonly FieldPlace[]): WorkSteps<FieldError[]> {
  const broken: BrokenRule[] = [];
  for (const place of places) {
    yield;
    broken.push(...brokenRules(place));
  }
  const clear = broken.filter(({ isEvaluable }) => isEvaluable);
  return broken
    .filter((each) => each.isEvaluable || !clear.some(({ path }) => isWithin(path, each.of)))
    .map(({ path, message }) => ({ path, message }));
}

/** Why the API server refuses to replace the first object, which it has stored, by the second, which is valid. */
export function changeErrors(kind: Kind, before: Fields, after: Fields): readonly FieldError[] {
  const schema = CRD_SCHEMAS[kind];
  const allIn = (object: Fields) => placesOf({ schema, value: normalise(schema, object), path: "" });
  const old = new Map(allIn(before).map(({ path, value }) => [path, value]));
  return allIn(after)
    .flatMap((place) => (old.has(place.path) ? brokenRules(place, old.get(place.path)) : []))
    .map(({ path, message }) => ({ path, message }));
}

/**
 * Keeps at most `max` errors of each rule and of the rest, and as many unknown fields, so that every rule with errors keeps
 * some, and none hides what a newer version may know.
 */
export function firstOfEachRule(errors: readonly FieldError[], max: number): FieldError[] {
  const counts = new Map<string, number>();
  return errors.filter(({ path, unknown = false }) => {
    const [rule = ""] = /^spec\.rules\[\d+\]/.exec(path) ?? [];
    const part = `${rule} ${unknown}`;
    const count = (counts.get(part) ?? 0) + 1;
    counts.set(part, count);
    return count <= max;
  });
}

/**
 * A copy in the form that the API server validates: null means absent, except as an item of a list, and defaults are
 * filled in (apiextensions-apiserver, pkg/apiserver/schema/defaulting). Lists are cut after the first excess item.
 */
function normalise(schema: CrdSchema, object: Fields): Fields {
  const copy: Record<string, unknown> = Object.create(null);
  for (const [key, value] of Object.entries(object)) {
    const field = fieldOf(schema, key);
    if (value !== undefined && (value !== null || field === undefined))
      copy[key] = normaliseValue(field, value);
  }
  for (const [key, field] of Object.entries(schema.properties ?? {})) {
    if (field.default !== undefined) copy[key] ??= field.default;
  }
  return copy;
}

/** The spec as the API server stores it: without nulls, with defaults. */
export function storedSpec(kind: Kind, spec: unknown): unknown {
  return normaliseValue(CRD_SCHEMAS[kind].properties?.["spec"], spec);
}

function normaliseValue(schema: CrdSchema | undefined, value: unknown): unknown {
  if (schema === undefined) return value;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value.slice(0, (schema.maxItems ?? Infinity) + 1);
    return items.map((item) => normaliseValue(schema.items, item));
  }
  return isFields(value) ? normalise(schema, value) : value;
}

/** The places whose schema has more keywords than ajv checks. */
function placesOf(root: FieldPlace): FieldPlace[] {
  const places: FieldPlace[] = [];
  const open = [root];
  for (let place = open.pop(); place !== undefined; place = open.pop()) {
    const { schema } = place;
    if (schema["x-kubernetes-validations"] ?? schema["x-kubernetes-list-type"]) places.push(place);
    for (const below of placesIn(place)) open.push(below);
  }
  return places;
}

/** The values directly below that the schema knows. */
export function placesIn({ schema, value, path }: FieldPlace): FieldPlace[] {
  const { items } = schema;
  if (Array.isArray(value)) {
    return items === undefined
      ? []
      : value.map((item: unknown, index) => ({ schema: items, value: item, path: `${path}[${index}]` }));
  }
  if (!isFields(value)) return [];
  return Object.entries(value).flatMap(([key, field]) => {
    const fieldSchema = fieldOf(schema, key);
    return fieldSchema === undefined
      ? []
      : [{ schema: fieldSchema, value: field, path: child(schema, path, key) }];
  });
}

function misfitsOf(kind: Kind, input: Fields): FieldError[] {
  const validate = VALIDATORS[kind];
  if (validate(input)) return [];
  return schemaErrors(validate.errors ?? [], CRD_SCHEMAS[kind]).map(({ error, path, message }) => ({
    path,
    message: isOfClusterPolicy(kind, error) ? message.replace(/; did you mean .*$/s, "") : message,
    ...(UNKNOWN.includes(error.keyword) && { unknown: true }),
  }));
}

/** A field that a ClusterHookPolicy has there is no misspelt field of a HookPolicy. */
function isOfClusterPolicy(kind: Kind, error: ErrorObject): boolean {
  const name: unknown = error.params["additionalProperty"];
  if (kind !== "HookPolicy" || typeof name !== "string") return false;
  const { schema } = placeAt(CRD_SCHEMAS.ClusterHookPolicy, error);
  return (schema && fieldOf(schema, name)) !== undefined;
}

const UNKNOWN: readonly string[] = ["additionalProperties", "enum"];

function duplicates({ schema, value, path }: FieldPlace): FieldError[] {
  const listType = schema["x-kubernetes-list-type"];
  if (!Array.isArray(value) || listType === undefined || listType === "atomic") return [];
  const first = new Map<string, number>();
  return value.flatMap((item: unknown, index) => {
    const key = identity(item, schema["x-kubernetes-list-map-keys"] ?? []);
    const earlier = key === undefined ? undefined : first.get(key);
    if (key !== undefined && earlier === undefined) first.set(key, index);
    if (earlier === undefined) return [];
    const message = `duplicate of ${path}[${earlier}]: ${key}. Rename or remove one of them`;
    return [{ path: `${path}[${index}]`, message }];
  });
}

/** `undefined`: an item without identity, which the schema rejects. */
function identity(item: unknown, keys: readonly string[]): string | undefined {
  if (keys.length === 0) return typeof item === "string" ? found(item) : undefined;
  const values = keys.map((key) => (isFields(item) ? item[key] : undefined));
  if (!values.every((value) => typeof value === "string")) return undefined;
  return keys.map((key, i) => `${key} ${JSON.stringify(values[i])}`).join(", ");
}

function typeErrors(kind: Kind, input: Fields): FieldError[] {
  const expected = { apiVersion: `${GROUP}/${CRD_VERSION}`, kind };
  return Object.entries(expected)
    .filter(([field, value]) => typeof input[field] === "string" && input[field] !== value)
    .map(([path, value]) => ({ path, message: `found ${found(input[path])}, expected ${value}` }));
}

/** The API server's rules for every object's name beyond the CRD. With generateName, it makes the name. */
function nameErrors(metadata: unknown): FieldError[] {
  const { name = "", generateName } = fieldsOf(metadata);
  if (name === "") {
    if (nonEmptyText(generateName) !== undefined) return [];
    return [{ path: "metadata.name", message: "required field is missing" }];
  }
  if (typeof name !== "string" || DNS_SUBDOMAIN.test(name)) return [];
  const message = `found ${found(name)}, expected lower-case letters, digits, '-' and '.', with a letter or digit first and last`;
  return [{ path: "metadata.name", message }];
}
