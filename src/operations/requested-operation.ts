/** A request to the API server that would begin an operation, before it is stored. */

import { type Cluster, DELETE_FOR_MOVE_ANNOTATION, OK_TO_DELETE_ANNOTATION } from "../api/meta.ts";
import { lookup } from "../api/selector.ts";
import { isVersion } from "../api/target-version.ts";
import { about, comingFrom } from "./call.ts";
import { isAtVersion, isBeingDeleted, isPending } from "./hook-lives.ts";
import type { Workers } from "../views/cluster.ts";
import type { Cascade, ClusterCall } from "../policy/world.ts";

/** `after` is absent for a deletion, `before` for a creation. */
export interface RequestedChange {
  readonly before?: Cluster;
  readonly after?: Cluster;
  readonly cascade?: Cascade | undefined;
  /** All workers of both; absent: unknown, so that only the version of the topology counts. */
  readonly workers?: { readonly before: readonly Workers[]; readonly after: readonly Workers[] };
}

/** `cluster`: the stored one for a deletion, otherwise the Cluster as it would be stored. */
export interface RequestedOperation extends ClusterCall {
  /** Such a deletion makes every hold worthless, whether it begins later or is there already. */
  readonly cascade?: Cascade;
  /** The names of the workers that alone are upgraded. */
  readonly workers?: readonly string[];
}

/** `undefined`: the request begins no operation, or an operation that the hook decides about later. */
export function requestedOperation({
  before,
  after,
  cascade,
}: RequestedChange): RequestedOperation | undefined {
  if (after === undefined) return before && deletionOf(before, cascade);
  // Cluster API calls the hook when the Cluster is resumed.
  if (after.paused && !isUpgrading(before, after)) return undefined;
  return before === undefined
    ? { call: { hook: "BeforeClusterCreate" }, cluster: after }
    : upgradeOf(before, after);
}

function deletionOf(cluster: Cluster, cascade: Cascade | undefined): RequestedOperation | undefined {
  const { deletionTimestamp, annotations } = cluster.metadata;
  const call = { hook: "BeforeClusterDelete" } as const;
  // Also for a Cluster that is being deleted already: the request adds the finalizer by which the garbage collector acts.
  if (cascade !== undefined && isHooked(cluster)) return { call, cluster, cascade };
  if (deletionTimestamp !== undefined) return undefined;
  // clusterctl move marks the paused Cluster before it deletes this copy.
  if (cluster.paused && lookup(annotations, DELETE_FOR_MOVE_ANNOTATION) !== undefined) return undefined;
  return { call, cluster };
}

/** Whether Cluster API calls BeforeClusterDelete, or will. */
function isHooked({ topology, metadata: { annotations } }: Cluster): boolean {
  return topology !== undefined && lookup(annotations, OK_TO_DELETE_ANNOTATION) === undefined;
}

/** Cluster API then calls no BeforeClusterUpgrade for another version, neither now nor later: see passesUnasked(). */
function isUpgrading(before: Cluster | undefined, after: Cluster): boolean {
  return before !== undefined && [before, after].some((each) => isPending(each, "AfterClusterUpgrade"));
}

function upgradeOf(before: Cluster, after: Cluster): RequestedOperation | undefined {
  const [from, to] = [before.topology?.version, after.topology?.version];
  if (from === undefined || to === undefined || from === to) return undefined;
  if (after.metadata.deletionTimestamp !== undefined) return undefined;
  const call = comingFrom({ hook: "BeforeClusterUpgrade" }, currentVersion(before));
  return { call: isVersion(to) ? about(call, to) : call, cluster: after };
}

/**
 * The version that the Cluster runs. While an upgrade is held or under way, its spec has another one, and the status may
 * name it as kubelets do.
 */
function currentVersion({ progress, topology }: Cluster): string | undefined {
  return progress?.reconciled === true ? topology?.version : progress?.version;
}

/** What a request to the API server would begin: each is reviewed by itself. */
export function requestedOperations(change: RequestedChange): readonly RequestedOperation[] {
  const requested = requestedOperation(change);
  return [...(requested === undefined ? [] : [requested]), ...workerUpgrades(change)];
}

interface Move {
  readonly name: string;
  readonly from: string | undefined;
  readonly to: string;
}

/**
 * Requests that give workers another version than before by a pin: one for each version that workers leave and each that
 * they go to. New workers are no upgrade. Cluster API (1.15) takes a pin for the version of its MachineDeployment or
 * MachinePool at once and calls no hook, not even while a hook holds the other workers or when the Cluster is resumed
 * (exp/topology/desiredstate/desired_state.go, computeMachineDeploymentVersion, computeMachinePoolVersion).
 */
function workerUpgrades({ before, after, workers }: RequestedChange): readonly RequestedOperation[] {
  if (before?.topology === undefined || after?.topology === undefined || isBeingDeleted(after)) return [];
  const known = new Map(workers?.before.map((each) => [keyOf(each), each]));
  const moves = (workers?.after ?? []).flatMap((now): Move[] => {
    const was = known.get(keyOf(now));
    const to = was && nextVersion({ was, now }, before, after);
    const from = was && ownVersion(was, before);
    return to === undefined || from === to ? [] : [{ name: now.name, from, to }];
  });
  const alike = Map.groupBy(moves, ({ from = "", to }) => JSON.stringify([from, to]));
  return [...alike.values()].flatMap((group) => upgradesTo(group, after));
}

function upgradesTo(moves: readonly Move[], cluster: Cluster): readonly RequestedOperation[] {
  const [first] = moves;
  if (first === undefined) return [];
  const call = comingFrom({ hook: "BeforeClusterUpgrade" }, first.from);
  const workers = moves.map(({ name }) => name);
  return [{ call: isVersion(first.to) ? about(call, first.to) : call, cluster, workers }];
}

function keyOf({ kind, name }: Workers): string {
  return `${kind}/${name}`;
}

/** `undefined`: they follow the topology, as before, or to another version, about which the hooks are called. */
function nextVersion(
  { was, now }: { readonly was: Workers; readonly now: Workers },
  before: Cluster,
  after: Cluster,
): string | undefined {
  if (now.version !== undefined) return now.version;
  const version = after.topology?.version;
  return was.version === undefined || version !== before.topology?.version ? undefined : version;
}

/** While an upgrade is held or under way, workers without a pin need not have the version of the topology yet. */
function ownVersion({ version }: Workers, cluster: Cluster): string | undefined {
  if (version !== undefined) return version;
  return isAtVersion(cluster) ? cluster.topology?.version : cluster.progress?.workersVersion;
}
