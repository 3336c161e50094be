/** Makes two fleets: the present one, and the one with the new objects applied. */

import { isDeepStrictEqual } from "node:util";
import { type Fields, fieldsOf, listOf, parseJson, textOf } from "../../lib/fields.ts";
import { emptySelections, clusterPlaces } from "../fleet/selections.ts";
import { Fleet, type FleetOptions, type FleetPolicy } from "../fleet/fleet.ts";
import { holderRef, identityOf, ownKind, type RawObject } from "../fleet/kinds.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { viewMetadata } from "../../views/cluster.ts";
import { type PolicyEdit, editOf } from "../../operations/timers.ts";
import { changedRules, type SpecChange, specChanges } from "./spec-changes.ts";

export interface FleetPair {
  readonly before: Fleet;
  readonly after: Fleet;
  /** By the uid of the policy: some of its clocks restart when its spec changes. */
  readonly edits: readonly { readonly uid: string; readonly edit: PolicyEdit }[];
  readonly specs: readonly SpecChange[];
  /** By ruleKey(). */
  readonly changed: ReadonlySet<string>;
  /** What selects no Cluster, in words: an applied policy, rollout or stage. */
  readonly selectsNothing: readonly string[];
}

/** `prune`: policies and rollouts that are not among the new objects are removed. */
export function fleetPair(
  present: readonly RawObject[],
  applied: readonly RawObject[],
  options: FleetOptions & { readonly prune: boolean },
): FleetPair {
  const byIdentity = new Map(present.map((object) => [identityOf(object), object]));
  const updated = applied.map((object) => apply(byIdentity.get(identityOf(object)), object));
  const names = new Set(applied.map(identityOf));
  const kept = present.filter(
    (object) => !names.has(identityOf(object)) && !(options.prune && holderRef(object) !== undefined),
  );
  // New Clusters and Namespaces among the applied objects belong to both fleets, so that they are compared, too.
  const extra = applied.filter(
    (object) => ownKind(object) === undefined && !byIdentity.has(identityOf(object)),
  );
  const future = [...kept, ...updated];
  // One that is there already can mean an earlier Cluster, and on an API server only new Clusters have no uid.
  const standing = new Set(present.filter(isOverride).map(nameIn));
  const canMeanUnknown = (name: string): boolean => options.objects === undefined && !standing.has(name);
  const after = new Fleet(future, { ...options, canMeanUnknown });
  const before = new Fleet([...present, ...extra], { ...options, canMeanUnknown });
  return {
    before,
    after,
    edits: editsBetween(before.policies, after.policies),
    specs: specChanges(present, future),
    changed: changedRules(present, future),
    selectsNothing: selectsNothing(applied, after),
  };
}

function isOverride(object: RawObject): boolean {
  return ownKind(object) === "HookOverride";
}

function nameIn({ metadata }: RawObject): string {
  return viewMetadata(metadata).name;
}

function selectsNothing(applied: readonly RawObject[], after: Fleet): string[] {
  const places = clusterPlaces(after);
  return applied.flatMap((object) =>
    emptySelections(object, places).map(({ path, message }) => {
      const holder = holderRef(object);
      return `${holder && policyName(holder)}: ${path}: ${message}`;
    }),
  );
}

function editsBetween(before: readonly FleetPolicy[], after: readonly FleetPolicy[]): FleetPair["edits"] {
  return before.flatMap(({ compiled: { uid }, object: { spec } }) => {
    const now = after.find(({ compiled }) => compiled.uid === uid)?.object.spec;
    const isSame = now === undefined || isDeepStrictEqual(spec, now);
    return isSame ? [] : [{ uid, edit: editOf(spec, now) }];
  });
}

/** Keeps what the API server and other clients have written, like `kubectl apply`. */
function apply(before: RawObject | undefined, object: RawObject): RawObject {
  if (before === undefined) return object;
  const old = fieldsOf(before["metadata"]);
  const metadata = fieldsOf(object["metadata"]);
  const both = (field: string): RawObject => ({ ...notApplied(old, field), ...fieldsOf(metadata[field]) });
  return {
    ...(before["status"] !== undefined && { status: before["status"] }),
    ...object,
    metadata: { ...old, ...metadata, labels: both("labels"), annotations: both("annotations") },
  };
}

const LAST_APPLIED = "kubectl.kubernetes.io/last-applied-configuration";

/**
 * The labels or annotations that others have written than kubectl, Flux or Argo CD, which remove theirs where they are not
 * applied again. In files, there are no others.
 */
function notApplied({ uid, managedFields, ...metadata }: Fields, field: string): Fields {
  if (uid === undefined) return {};
  const last = fieldsOf(parseJson(textOf(fieldsOf(metadata["annotations"])[LAST_APPLIED])));
  const lastApplied = fieldsOf(fieldsOf(last["metadata"])[field]);
  const owned = listOf(managedFields)
    .map(fieldsOf)
    .filter(({ operation }) => operation === "Apply")
    .map(({ fieldsV1 }) => fieldsOf(fieldsOf(fieldsOf(fieldsV1)["f:metadata"])[`f:${field}`]));
  const isApplied = (key: string): boolean => key in lastApplied || owned.some((keys) => `f:${key}` in keys);
  return Object.fromEntries(Object.entries(fieldsOf(metadata[field])).filter(([key]) => !isApplied(key)));
}
