/** The types that are known before an evaluation: those of variables, fields and functions. */

import type { CelFunc, CelType } from "@bufbuild/cel";
import { functions } from "./environment.ts";
import { VERSION_FUNCTIONS } from "./cel-version.ts";
import type { VariableName } from "./view.ts";

/** `optional`: of a field that can be missing. */
export type Type = { readonly optional?: true } &
  /** `json`: any of the types that a value in JSON can have. */
  (
    | { readonly kind: ScalarKind; readonly json?: true }
    | { readonly kind: "list"; readonly element: Type }
    /** Its keys are strings, unless it is a literal in the expression. */
    | { readonly kind: "map"; readonly value: Type }
    | { readonly kind: "object"; readonly fields: Fields; readonly open: boolean }
  );

type Fields = Readonly<Record<string, Type>>;

type ScalarKind =
  | "bool"
  | "int"
  | "uint"
  | "double"
  | "string"
  | "bytes"
  | "null_type"
  | "timestamp"
  | "duration"
  | "semver"
  | "type"
  | "dyn";

export const DYN: Type = { kind: "dyn" };
/** A value from a Kubernetes object: neither a timestamp nor a duration, which are strings there. */
export const JSON_VALUE: Type = { kind: "dyn", json: true };
export const BOOL: Type = { kind: "bool" };
export const STRING: Type = { kind: "string" };
export const INT: Type = { kind: "int" };
const TIMESTAMP: Type = { kind: "timestamp" };

export function list(element: Type): Type {
  return { kind: "list", element };
}

export function map(value: Type): Type {
  return { kind: "map", value };
}

function optional(type: Type): Type {
  return { ...type, optional: true };
}

function object(fields: Fields, open = false): Type {
  return { kind: "object", fields, open };
}

const METADATA: Fields = {
  name: STRING,
  namespace: STRING,
  uid: STRING,
  labels: map(STRING),
  annotations: map(STRING),
  creationTimestamp: TIMESTAMP,
  deletionTimestamp: optional(TIMESTAMP),
  generation: INT,
  finalizers: list(STRING),
};
const { namespace: _, ...CLUSTER_SCOPED_METADATA } = METADATA;

/** The fields that are known for any object without reading it as a whole. */
export const METADATA_FIELDS: readonly string[] = Object.keys(METADATA);

const CONDITION = object({
  type: STRING,
  status: STRING,
  reason: STRING,
  lastTransitionTime: TIMESTAMP,
});

/** The types that view.ts produces. */
export const VARIABLES: Readonly<Record<VariableName, Type>> = {
  cluster: object({
    metadata: object(METADATA),
    topology: optional(
      object({
        className: STRING,
        version: STRING,
        variables: map(JSON_VALUE),
        pinnedWorkers: list(object({ kind: STRING, name: STRING, version: STRING })),
      }),
    ),
    status: object({
      phase: optional(STRING),
      conditions: list(CONDITION),
      initialization: object({
        infrastructureProvisioned: optional(BOOL),
        controlPlaneInitialized: optional(BOOL),
      }),
    }),
  }),
  namespaceObject: object({ metadata: object(CLUSTER_SCOPED_METADATA) }),
  request: object({
    hook: STRING,
    fromKubernetesVersion: optional(STRING),
    toKubernetesVersion: optional(STRING),
    kubernetesVersion: optional(STRING),
    targetVersion: optional(STRING),
    settings: map(STRING),
  }),
  // Most kinds have a status, but no object has it from the start.
  object: object(
    {
      metadata: object({
        ...METADATA,
        namespace: optional(STRING),
        generation: optional(INT),
        ownerReferences: optional(list(JSON_VALUE)),
      }),
      status: optional(JSON_VALUE),
    },
    true,
  ),
  now: TIMESTAMP,
};

export interface Signature {
  readonly name: string;
  readonly target: Type | undefined;
  readonly args: readonly Type[];
  readonly result: Type;
}

export const SIGNATURES: ReadonlyMap<string, readonly Signature[]> = Map.groupBy(
  functions.map(signature),
  ({ name }) => name,
);

function signature({ name, target, arguments: args, result }: CelFunc): Signature {
  const known = VERSION_FUNCTIONS.includes(name) ? versionType : typeOf;
  return { name, target: target && known(target), args: args.map(known), result: known(result) };
}

/** The library represents versions as maps. */
function versionType(type: CelType): Type {
  return type.kind === "map" ? { kind: "semver" } : typeOf(type);
}

function typeOf(type: CelType): Type {
  switch (type.kind) {
    case "scalar":
      return { kind: type.scalar };
    case "list":
      return list(typeOf(type.element));
    case "map":
      return map(typeOf(type.value));
    case "object":
      if (type.name === "google.protobuf.Timestamp") return TIMESTAMP;
      return type.name === "google.protobuf.Duration" ? { kind: "duration" } : DYN;
  }
}

const NUMBERS: readonly string[] = ["int", "uint", "double"];

export function isJson(type: Type): boolean {
  return "json" in type;
}

/** Whether values of the two types can be equal. */
export function comparable(a: Type, b: Type): boolean {
  return fits(a, b) || (NUMBERS.includes(a.kind) && NUMBERS.includes(b.kind));
}

/** Whether a value of type `given` is accepted where `taken` is expected. */
export function fits(given: Type, taken: Type): boolean {
  if (given.kind === "dyn" || taken.kind === "dyn" || given.kind === taken.kind) return true;
  return isMap(given) && isMap(taken);
}

function isMap({ kind }: Type): boolean {
  return kind === "map" || kind === "object";
}

/** The type of a value that may have either type. */
export function either(a: Type, b: Type): Type {
  if (a.kind !== b.kind || isJson(a) !== isJson(b)) return DYN;
  if (a.kind === "list" && b.kind === "list") return list(either(a.element, b.element));
  if (a.kind === "map" && b.kind === "map") return map(either(a.value, b.value));
  return a === b || a.kind !== "object" ? a : DYN;
}
