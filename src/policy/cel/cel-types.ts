/** The types that are known before an evaluation: those of variables, fields and functions. */

import type { CelFunc, CelType } from "@bufbuild/cel";
import { functions } from "./environment.ts";
import { VERSION_FUNCTIONS } from "./cel-version.ts";
import type { VariableName } from "./view.ts";

export type Type =
  /** `json`: any of the types that a value in JSON can have. */
  | { readonly kind: ScalarKind; readonly json?: true }
  | { readonly kind: "list"; readonly element: Type }
  /** Its keys are strings, unless it is a literal in the expression. */
  | { readonly kind: "map"; readonly value: Type }
  | { readonly kind: "object"; readonly fields: Readonly<Record<string, Field>>; readonly open: boolean };

const SCALARS = [
  "bool",
  "int",
  "uint",
  "double",
  "string",
  "bytes",
  "null_type",
  "timestamp",
  "duration",
  "semver",
] as const;

type ScalarKind = (typeof SCALARS)[number] | "type" | "dyn";

export interface Field {
  readonly type: Type;
  readonly optional: boolean;
}

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

const always = (type: Type): Field => ({ type, optional: false });
const optional = (type: Type): Field => ({ type, optional: true });
const object = (fields: Readonly<Record<string, Field>>, open = false): Type => ({
  kind: "object",
  fields,
  open,
});

const METADATA: Readonly<Record<string, Field>> = {
  name: always(STRING),
  namespace: always(STRING),
  uid: always(STRING),
  labels: always(map(STRING)),
  annotations: always(map(STRING)),
  creationTimestamp: always(TIMESTAMP),
  deletionTimestamp: optional(TIMESTAMP),
  generation: always(INT),
  finalizers: always(list(STRING)),
};
const { namespace: _, ...CLUSTER_SCOPED_METADATA } = METADATA;

/** The fields that are known for any object without reading it as a whole. */
export const METADATA_FIELDS: readonly string[] = Object.keys(METADATA);

const CONDITION = object({
  type: always(STRING),
  status: always(STRING),
  reason: always(STRING),
  lastTransitionTime: always(TIMESTAMP),
});

/** The types that view.ts produces. */
export const VARIABLES: Readonly<Record<VariableName, Type>> = {
  cluster: object({
    metadata: always(object(METADATA)),
    topology: optional(
      object({
        className: always(STRING),
        version: always(STRING),
        variables: always(map(JSON_VALUE)),
        pinnedWorkers: always(
          list(object({ kind: always(STRING), name: always(STRING), version: always(STRING) })),
        ),
      }),
    ),
    status: always(
      object({
        phase: optional(STRING),
        conditions: always(list(CONDITION)),
        initialization: always(
          object({ infrastructureProvisioned: optional(BOOL), controlPlaneInitialized: optional(BOOL) }),
        ),
      }),
    ),
  }),
  namespaceObject: object({ metadata: always(object(CLUSTER_SCOPED_METADATA)) }),
  request: object({
    hook: always(STRING),
    fromKubernetesVersion: optional(STRING),
    toKubernetesVersion: optional(STRING),
    kubernetesVersion: optional(STRING),
    targetVersion: optional(STRING),
    settings: always(map(STRING)),
  }),
  // Most kinds have a status, but no object has it from the start.
  object: object(
    {
      metadata: always(
        object({
          ...METADATA,
          namespace: optional(STRING),
          generation: optional(INT),
          ownerReferences: optional(list(JSON_VALUE)),
        }),
      ),
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

/** The type of an observed value, by its name; `undefined`: no function takes such a value. */
export function typeNamed(name: string): Type | undefined {
  if (name === "list") return list(DYN);
  if (name === "map") return map(DYN);
  const kind = SCALARS.find((scalar) => scalar === name);
  return kind && { kind };
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
