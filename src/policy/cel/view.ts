/** Presents the variables to expressions as CEL values, converted only when an expression reads them. */

import { celError, type CelInput, celList, celMap } from "@bufbuild/cel";
import { reflect } from "@bufbuild/protobuf/reflect";
import { timestampFromMs, TimestampSchema } from "@bufbuild/protobuf/wkt";
import { type Fields, isFields } from "../../lib/fields.ts";
import type {
  Cluster,
  ClusterCondition,
  ClusterStatus,
  ClusterTopology,
  ObjectMeta,
  StoredNamespace,
} from "../../api/meta.ts";
import type { HookCall } from "../../api/runtime-hooks.ts";
import { targetVersion } from "../../api/target-version.ts";
import { meter } from "./meter.ts";
import { viewMetadata } from "../../views/cluster.ts";

export interface ExpressionVariables {
  readonly cluster: Cluster;
  readonly namespace?: StoredNamespace | undefined;
  readonly call?: HookCall;
  /** A raw Kubernetes object. */
  readonly object?: unknown;
  /** Metadata of `object`, if it has been viewed already. */
  readonly objectMetadata?: ObjectMeta;
  readonly now: Date;
}

/** A Namespace is named as in a ValidatingAdmissionPolicy: `namespace` is a reserved word of CEL. */
export type VariableName = "cluster" | "namespaceObject" | "request" | "object" | "now";

/** The prefix of error messages that users may see unchanged; the library's messages can contain observed values. */
export const FOR_USERS = "hookpolicy: ";

/** An unknown variable is an error only if the expression reads it. */
export function viewVariable(name: VariableName, variables: ExpressionVariables): CelInput | Error {
  const { cluster, namespace, call, object, objectMetadata, now } = variables;
  switch (name) {
    case "cluster":
      return viewCluster(cluster);
    case "namespaceObject":
      return namespace === undefined || namespace.tooLarge === true
        ? unknown("the Namespace of the Cluster is not known")
        : struct({ metadata: () => viewObjectMeta(namespace.metadata) });
    case "request":
      return call === undefined ? unknown("the hook call is not known") : viewCall(call);
    case "object":
      return object === undefined ? unknown("the object is not known") : viewObject(object, objectMetadata);
    case "now":
      return instant(now.getTime());
  }
}

function unknown(what: string): Error {
  return celError(`${FOR_USERS}${what}`);
}

function viewCluster({ metadata, topology, status }: Cluster): CelInput {
  return struct({
    metadata: () => viewObjectMeta(metadata),
    topology: topology && (() => viewTopology(topology)),
    status: status && (() => viewStatus(status)),
  });
}

/** Unpacks packed variables only when an expression reads them, and after charging for them. */
function viewTopology(topology: ClusterTopology): CelInput {
  return struct({
    className: topology.className,
    version: topology.version,
    variables: () => viewJson(parseVariables(topology)),
    pinnedWorkers: () => viewJson(topology.pinnedWorkers ?? []),
  });
}

function parseVariables(topology: ClusterTopology): Fields {
  const length = topology.variablesLength ?? topology.variables?.length ?? 0;
  return meter.once(topology, length, () => {
    const parsed: unknown = JSON.parse(topology.variables ?? "{}");
    if (!isFields(parsed)) throw new Error("the variables are no map");
    return parsed;
  });
}

function viewStatus({ phase, conditions, initialization }: ClusterStatus): CelInput {
  return struct({
    phase,
    conditions: () => viewList(conditions, viewCondition),
    initialization: () => viewJson(initialization),
  });
}

function viewCondition(condition: ClusterCondition): CelInput {
  return struct({
    type: condition.type,
    status: condition.status,
    reason: condition.reason,
    lastTransitionTime: viewTime(condition.lastTransitionTime),
  });
}

/** Empty maps and lists are present, since Kubernetes treats absent ones the same. */
function viewObjectMeta(metadata: ObjectMeta, more: Record<string, Field> = {}): CelInput {
  const { name, namespace, uid, generation, labels = {}, annotations = {}, finalizers = [] } = metadata;
  return struct({
    name,
    namespace,
    uid,
    labels: () => viewJson(labels),
    annotations: () => viewJson(annotations),
    creationTimestamp: viewTime(metadata.creationTimestamp),
    deletionTimestamp: viewTime(metadata.deletionTimestamp),
    generation: generation === undefined ? undefined : BigInt(generation),
    finalizers: () => viewJson(finalizers),
    ...more,
  });
}

function viewTime(text: string | undefined): Thunk | undefined {
  const ms = text === undefined ? NaN : Date.parse(text);
  return Number.isNaN(ms) ? undefined : () => instant(ms);
}

/** In the form that the library would otherwise create at every read. */
function instant(ms: number): CelInput {
  return reflect(TimestampSchema, timestampFromMs(ms));
}

function viewCall(call: HookCall): CelInput {
  const { hook, settings = {}, fromKubernetesVersion, toKubernetesVersion, kubernetesVersion } = call;
  return struct({
    hook,
    fromKubernetesVersion,
    toKubernetesVersion,
    kubernetesVersion,
    targetVersion: targetVersion(call),
    settings: () => viewJson(settings),
  });
}

/** Its metadata is the same whether the whole object or only metadata is watched. */
function viewObject(raw: unknown, metadata: ObjectMeta | undefined): CelInput {
  if (!isFields(raw)) return viewJson(raw);
  const owners = isFields(raw["metadata"]) ? raw["metadata"]["ownerReferences"] : undefined;
  return celMap(
    new LazyMap(raw, (value, key) =>
      key === "metadata"
        ? viewObjectMeta(metadata ?? viewMetadata(value), {
            ownerReferences: owners === undefined ? undefined : () => viewJson(owners),
          })
        : viewJson(value),
    ),
  );
}

type Thunk = () => CelInput;

/** A field that is absent, is there, or is viewed when an expression reads it. */
type Field = string | bigint | Thunk | undefined;

function struct(fields: Readonly<Record<string, Field>>): CelInput {
  return celMap(new LazyStruct(fields, (field) => (typeof field === "function" ? field() : (field ?? null))));
}

/** As in Kubernetes, an integral JSON number is a CEL int, and any other number a double. */
function viewJson(value: unknown): CelInput {
  if (Array.isArray(value)) return viewList(value, viewJson);
  if (isFields(value)) return celMap(new LazyMap(value, viewJson));
  if (typeof value === "number") return Number.isSafeInteger(value) ? BigInt(value) : value;
  return typeof value === "string" || typeof value === "boolean" ? value : null;
}

function viewList<T>(items: readonly T[], view: (item: T) => CelInput): CelInput {
  meter.charge(items.length);
  return celList(items.map(view));
}

/** The own properties of an object, each converted at its first read. Lives for one evaluation. */
class LazyMap<T> implements ReadonlyMap<string, CelInput> {
  readonly #raw: Readonly<Record<string, T>>;
  readonly #view: (value: T, key: string) => CelInput;
  readonly #seen = new Map<string, CelInput>();
  #keys: readonly string[] | undefined;

  constructor(raw: Readonly<Record<string, T>>, view: (value: T, key: string) => CelInput) {
    this.#raw = raw;
    this.#view = view;
  }

  get size(): number {
    return this.#names().length;
  }

  get(key: string): CelInput | undefined {
    const seen = this.#seen.get(key);
    if (seen !== undefined || typeof key !== "string" || !Object.hasOwn(this.#raw, key)) return seen;
    const value = this.#raw[key];
    if (value === undefined) return undefined;
    const viewed = this.#view(value, key);
    this.#seen.set(key, viewed);
    return viewed;
  }

  has(key: string): boolean {
    return this.get(key) !== undefined;
  }

  forEach(callback: (value: CelInput, key: string, map: ReadonlyMap<string, CelInput>) => void): void {
    for (const [key, value] of this) callback(value, key, this);
  }

  keys(): MapIterator<string> {
    return this.#names().values();
  }

  *values(): MapIterator<CelInput> {
    for (const [, value] of this) yield value;
  }

  entries(): MapIterator<[string, CelInput]> {
    return this[Symbol.iterator]();
  }

  *[Symbol.iterator](): MapIterator<[string, CelInput]> {
    for (const key of this.#names()) yield [key, this.get(key) ?? null];
  }

  #names(): readonly string[] {
    this.#keys ??= this.keysOf(this.#raw);
    return this.#keys;
  }

  protected keysOf(raw: Readonly<Record<string, T>>): readonly string[] {
    return chargedKeys(raw);
  }
}

/** An undefined field is absent. Copying the others, several times for each evaluation, would be most of its cost. */
class LazyStruct extends LazyMap<Field> {
  protected override keysOf(raw: Readonly<Record<string, Field>>): readonly string[] {
    return chargedKeys(raw).filter((key) => raw[key] !== undefined);
  }
}

/** Key counts of objects with many keys: a large map is charged before it is listed again. */
const counts = new WeakMap<object, number>();
const MANY_KEYS = 100;

/** Charges a step for each key. Every evaluation lists the keys again, so that no decision keeps them. */
function chargedKeys(raw: object): readonly string[] {
  const known = counts.get(raw);
  if (known !== undefined) meter.charge(known);
  const keys = Object.keys(raw);
  if (known !== undefined) return keys;
  if (keys.length >= MANY_KEYS) counts.set(raw, keys.length);
  meter.charge(keys.length);
  return keys;
}
