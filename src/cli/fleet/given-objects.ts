/** Finds the objects of files as gates would find them on the API server, or says why the files do not tell which those are. */

import { CLUSTER_API_GROUP, type Namespace, NAMESPACE_NAME } from "../../api/meta.ts";
import { fieldsOf, isFields, nonEmptyText } from "../../lib/fields.ts";
import { OBJECTS_UNCLEAR } from "../../policy/strict-reasons.ts";
import {
  type FoundObjects,
  type ObjectKind,
  objectKindKey,
  type ObjectLook,
  type ObjectReader,
  type WatchedObject,
} from "../../policy/watched-objects.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { itemKind } from "../files/parsed.ts";
import { groupOf, isCluster, isNamespace, kindName, ownKind, type RawObject, titleOf } from "./kinds.ts";
import { merged } from "./merge-patch.ts";

/**
 * `complete`: a kind without objects has none; otherwise it is unknown, unless an empty list of it is given. `namespaceOf` knows
 * the Namespaces.
 */
export function objectReader(
  objects: readonly RawObject[],
  namespaceOf: (name: string) => Namespace | undefined,
  complete: boolean,
): ObjectReader {
  // Not every fleet is asked for them.
  let known: GivenKinds | undefined;
  return {
    find: (kind, namespace, look): FoundObjects => {
      known ??= givenKinds(objects, namespaceOf);
      const { kinds, empty } = known;
      const key = kindName(kind);
      const given =
        kinds.get(key) ?? (complete || empty.has(key) ? { ...kindOf(key, []), lost: [] } : undefined);
      if (given === undefined) {
        const message = `no ${objectKindKey(kind)} is among the objects that were given`;
        return { ok: false, reason: "ObjectsNotGiven", message };
      }
      const { namespaced, objects: all } = given;
      const inReach = all.filter(({ metadata }) => !namespaced || metadata.namespace === namespace);
      const message = look && problemOf(kind, look, { ...given, inReach });
      if (message !== undefined) return { ok: false, reason: OBJECTS_UNCLEAR, message };
      return { ok: true, namespaced, objects: inReach };
    },
  };
}

interface GivenKinds {
  /** By kindName(). */
  readonly kinds: ReadonlyMap<string, GivenKind & Pick<Reach, "lost">>;
  /** Those of which an empty list is given. */
  readonly empty: ReadonlySet<string>;
}

function givenKinds(
  objects: readonly RawObject[],
  namespaceOf: (name: string) => Namespace | undefined,
): GivenKinds {
  const isLost = ({ metadata: { namespace } }: WatchedObject): boolean =>
    namespace !== undefined && !namespaceOf(namespace);
  const kinds = new Map(
    [...Map.groupBy(objects, kindName)].map(([key, own]) => {
      const found = kindOf(key, own);
      return [key, { ...found, lost: found.objects.filter(isLost) }];
    }),
  );
  return { kinds, empty: new Set(objects.flatMap(emptyKind)) };
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

interface Reach extends Pick<GivenKind, "isUnclear"> {
  /** Where the gate looks. */
  readonly inReach: GivenKind["objects"];
  /** In a namespace whose Namespace is not given. */
  readonly lost: GivenKind["objects"];
}

/** Why it is unknown what the gate would find, and what to change in the files. */
function problemOf(
  { apiVersion }: ObjectKind,
  { wants, whole, namespace: named, missesInNamespaces }: ObjectLook,
  { isUnclear, inReach, lost }: Reach,
): string | undefined {
  const own = inReach.filter(({ metadata }) => wants(metadata));
  const [first] = own;
  if (isUnclear && (named ?? "default") !== "default" && first !== undefined)
    return `${titleOf(first.raw)} has no metadata.namespace, and a gate looks in namespace ${named}: write it, or leave that out of the gate if the kind has no namespaces`;
  const other = whole ? own.find(({ raw }) => raw["apiVersion"] !== apiVersion) : undefined;
  if (other !== undefined)
    return `${titleOf(other.raw)} is given as ${String(other.raw["apiVersion"])}, and a gate reads it as ${apiVersion}: give it as that`;
  const away = missesInNamespaces ? lost.find(({ metadata }) => wants(metadata)) : undefined;
  return (
    away &&
    `${titleOf(away.raw)} is in a namespace that a gate may select: add Namespace ${away.metadata.namespace}, with its labels`
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
