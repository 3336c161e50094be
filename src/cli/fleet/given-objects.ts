/** Finds the objects of files as gates would find them on the API server, or says why the files do not tell which those are. */

import type { ObjectGateSpec } from "../../api/hook-policy.ts";
import { CLUSTER_API_GROUP, type Namespace, NAMESPACE_NAME } from "../../api/meta.ts";
import { compileSelector } from "../../api/selector.ts";
import { fieldsOf, isFields, nonEmptyText } from "../../lib/fields.ts";
import { compileExpression } from "../../policy/cel/expression.ts";
import { compileCount, provesByMissing } from "../../policy/gates/object-count.ts";
import { OBJECTS_UNCLEAR } from "../../policy/strict-reasons.ts";
import {
  type FoundObjects,
  objectKindKey,
  type ObjectReader,
  type WatchedObject,
} from "../../policy/watched-objects.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { itemKind } from "../files/parsed.ts";
import { groupOf, isCluster, isNamespace, kindName, ownKind, type RawObject, titleOf } from "./kinds.ts";
import { merged } from "./merge-patch.ts";

interface Fleet {
  readonly objectGates: () => readonly ObjectGateSpec[];
  readonly namespace: (name: string) => Namespace | undefined;
}

/** `complete`: a kind without objects has none; otherwise it is unknown, unless an empty list of it is given. */
export function objectReader(objects: readonly RawObject[], fleet: Fleet, complete: boolean): ObjectReader {
  const kinds = new Map([...Map.groupBy(objects, kindName)].map(([key, own]) => [key, kindOf(key, own)]));
  const empty = new Set(objects.flatMap(emptyKind));
  const unclear = new Map(
    fleet.objectGates().flatMap((gate): [string, string][] => {
      const given = kinds.get(kindName({ ...gate }));
      const problem = given && problemOf(gate, given, fleet);
      return problem === undefined ? [] : [[objectKindKey(gate), problem]];
    }),
  );
  return {
    find: (kind, namespace): FoundObjects => {
      const key = kindName({ ...kind });
      const given = kinds.get(key) ?? (complete || empty.has(key) ? kindOf(key, []) : undefined);
      const name = objectKindKey(kind);
      if (given === undefined) {
        const message = `no ${name} is among the objects that were given`;
        return { ok: false, reason: "ObjectsNotGiven", message };
      }
      const message = unclear.get(name);
      if (message !== undefined) return { ok: false, reason: OBJECTS_UNCLEAR, message };
      const { namespaced, objects: all } = given;
      const inReach = all.filter(({ metadata }) => !namespaced || metadata.namespace === namespace);
      return { ok: true, namespaced, objects: inReach };
    },
  };
}

/** Kubernetes' own kinds; of another one, a namespace in one of its objects shows that it has namespaces. */
const CLUSTER_SCOPED: ReadonlySet<string> = new Set([
  "Namespace",
  "Node",
  "PersistentVolume",
  "StorageClass.storage.k8s.io",
  "IngressClass.networking.k8s.io",
  "PriorityClass.scheduling.k8s.io",
  "ClusterRole.rbac.authorization.k8s.io",
  "ClusterRoleBinding.rbac.authorization.k8s.io",
  "CustomResourceDefinition.apiextensions.k8s.io",
]);

interface GivenKind {
  readonly namespaced: boolean;
  /** Whether the files leave open which of both it is. */
  readonly isUnclear: boolean;
  readonly objects: readonly (WatchedObject & Required<Pick<WatchedObject, "raw">>)[];
}

function kindOf(key: string, raws: readonly RawObject[]): GivenKind {
  const isClusterScoped = CLUSTER_SCOPED.has(key);
  const hasNamespaces = raws.length === 0 || raws.some((raw) => isBuiltIn(groupOf(raw)) || isPlaced(raw));
  const namespaced = !isClusterScoped && hasNamespaces;
  return {
    namespaced,
    isUnclear: !isClusterScoped && !hasNamespaces,
    objects: raws
      .map((raw) => (namespaced ? placed(raw) : raw))
      .map((raw) => ({ metadata: viewMetadata(raw["metadata"]), raw })),
  };
}

function isBuiltIn(group: string): boolean {
  return !group.includes(".") || group === CLUSTER_API_GROUP;
}

function emptyKind(list: RawObject): readonly string[] {
  const kind = itemKind(list);
  return kind === undefined ? [] : [kindName({ ...list, kind })];
}

/** Why it is unknown what the gate would find, and what to change in the files. */
function problemOf(
  gate: ObjectGateSpec,
  { isUnclear, objects }: GivenKind,
  fleet: Fleet,
): string | undefined {
  const selects = compileSelector(gate.selector);
  const own = objects.filter(
    ({ metadata: { name, labels } }) => (gate.name ?? name) === name && selects(labels),
  );
  const [first] = own;
  if (isUnclear && (gate.namespace ?? "default") !== "default" && first !== undefined)
    return `${titleOf(first.raw)} has no metadata.namespace, and a gate looks in namespace ${gate.namespace}: write it, or leave that out of the gate if the kind has no namespaces`;
  const other = readsWhole(gate) ? own.find(({ raw }) => raw["apiVersion"] !== gate.apiVersion) : undefined;
  if (other !== undefined)
    return `${titleOf(other.raw)} is given as ${String(other.raw["apiVersion"])}, and a gate reads it as ${gate.apiVersion}: give it as that`;
  if (gate.namespaceSelector === undefined || !provesByMissing(compileCount(gate))) return undefined;
  const away = own.find(
    ({ metadata: { namespace } }) => namespace !== undefined && !fleet.namespace(namespace),
  );
  return (
    away &&
    `${titleOf(away.raw)} is in a namespace that a gate may select: add Namespace ${away.metadata.namespace}, with its labels`
  );
}

function readsWhole({ expression }: ObjectGateSpec): boolean {
  return (
    expression !== undefined && compileExpression(expression, "object").expression?.readsWholeObject === true
  );
}

/** The object as the API server stores it: in the namespace of `kubectl apply`, a Namespace with its own label. */
export function stored(raw: RawObject): RawObject {
  if (isNamespace(raw)) return labelled(raw);
  if (isCluster(raw)) return versioned(placed(raw));
  return ownKind(raw) === "HookPolicy" ? placed(raw) : raw;
}

function placed(raw: RawObject): RawObject {
  const metadata = raw["metadata"];
  if (!isFields(metadata) || isPlaced(raw)) return raw;
  return { ...raw, metadata: { ...metadata, namespace: "default" } };
}

function isPlaced({ metadata }: RawObject): boolean {
  return viewMetadata(metadata).namespace !== undefined;
}

function labelled(raw: RawObject): RawObject {
  const { name } = viewMetadata(raw["metadata"]);
  return name === "" ? raw : merged(raw, { metadata: { labels: { [NAMESPACE_NAME]: name } } });
}

/** Cluster API's webhook completes the version (internal/webhooks/cluster.go, Default). */
function versioned(raw: RawObject): RawObject {
  const version = nonEmptyText(fieldsOf(fieldsOf(raw["spec"])["topology"])["version"]);
  if (version === undefined || version.startsWith("v")) return raw;
  return merged(raw, { spec: { topology: { version: `v${version}` } } });
}
