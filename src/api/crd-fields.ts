/** Which fields a served schema lacks or has more than the program: the API server drops the fields that it does not know. */

import { fieldsOf, isFields } from "../lib/fields.ts";
import type { CrdSchema } from "./crd-schema.ts";
import { CRD_SCHEMAS } from "./crd-schemas.ts";

/** Brings the CRDs of a release. */
export const APPLY_CRDS = "kubectl apply --server-side --force-conflicts -k crds";

/** Of the kind that the operator alone writes, without which it does nothing. */
const NEEDED: Readonly<Record<string, readonly string[]>> = {
  HookTask: ["spec.renderedHash", "status.altered"],
};

export interface FieldDifference {
  /** Fields of the program, such as `spec.rules[].tasks`, that the schema does not have. */
  readonly missing: readonly string[];
  readonly more: readonly string[];
}

export function compareFields(kind: string, schema: unknown): FieldDifference {
  const theirs = new Set(fieldPaths(schema));
  const schemas: Readonly<Record<string, CrdSchema>> = CRD_SCHEMAS;
  const own = schemas[kind];
  const ours = new Set(own === undefined ? (NEEDED[kind] ?? []) : fieldPaths(own));
  return {
    missing: [...ours.difference(theirs)],
    more: own === undefined ? [] : [...theirs.difference(ours)],
  };
}

function fieldPaths(schema: unknown, path = ""): string[] {
  if (!isFields(schema)) return [];
  const properties = Object.entries(fieldsOf(schema["properties"]));
  return [
    ...properties.flatMap(([name, each]) => {
      const below = path === "" ? name : `${path}.${name}`;
      return [below, ...fieldPaths(each, below)];
    }),
    ...fieldPaths(schema["items"], `${path}[]`),
  ];
}
