/** What Cluster API has asked for and has not been let do yet: when an operation begins and when it ends. */

import { type Cluster, OK_TO_DELETE_ANNOTATION, PENDING_HOOKS_ANNOTATION } from "../api/meta.ts";
import type { DecisionRow, HookPolicyStatus } from "../api/hookpolicy.ts";
import type { HookCall, HookName } from "../api/runtimehooks.ts";
import { compareResourceVersions } from "../policy/cluster.ts";
import { targetVersion } from "../policy/call.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import { lookup } from "../policy/selector.ts";
import { adoptTimers, storedTimers } from "../policy/timers.ts";
import type { Asked } from "../policy/world.ts";

export interface Ask extends Asked {
  readonly clusterUID: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly call: HookCall;
  /** Of the Cluster at the last call: an older copy cannot tell that the operation has ended. */
  readonly resourceVersion: string;
  /** Cluster API's own mark of the hook was there: when it goes, the hook has let the Cluster go on. */
  readonly marked: boolean;
}

export function askKey(clusterUID: string, hook: HookName): string {
  return `${clusterUID}/${hook}`;
}

/** Another target is another operation, and its clocks start anew. */
export function newAsk(call: HookCall, cluster: Cluster, now: Date, before: Ask | undefined): Ask {
  const { uid, name, namespace, resourceVersion, deletionTimestamp } = cluster.metadata;
  const same = before !== undefined && targetVersion(before.call) === targetVersion(call);
  const begun = call.hook === "BeforeClusterDelete" ? parseTime(deletionTimestamp) : undefined;
  return {
    clusterUID: uid,
    namespace: namespace ?? "",
    cluster: name,
    call,
    firstAsked: begun ?? (same ? before.firstAsked : now),
    rules: same ? before.rules : new Map(),
    resourceVersion,
    marked: (same && before.marked) || isPending(cluster, markOf(call.hook)),
  };
}

/**
 * A Cluster that is being deleted is going to be asked about, if it has not been yet: every replica sees
 * that by itself, also after a restart. Not so without a topology or while paused (no hook is called).
 */
export function deletionAsk(cluster: Cluster): Ask | undefined {
  const begun = parseTime(cluster.metadata.deletionTimestamp);
  if (begun === undefined || cluster.topology === undefined || cluster.paused) return undefined;
  const ask = newAsk({ hook: "BeforeClusterDelete" }, cluster, begun, undefined);
  return hasEnded(ask, cluster) ? undefined : ask;
}

/** Where a status row comes from, and what is known besides. */
export interface RowContext {
  readonly cluster: Cluster;
  readonly policy: CompiledPolicy;
  readonly status: HookPolicyStatus | undefined;
  readonly known: Ask | undefined;
  readonly now: Date;
}

/**
 * The operation that a row tells of, written by another replica or before a restart, together with what is known of it;
 * nothing, if the row makes no sense.
 */
export function adoptRow(
  row: DecisionRow,
  { cluster, policy, status, known, now }: RowContext,
): Ask | undefined {
  const adopted = askFromRow(row, cluster);
  if (adopted === undefined) return undefined;
  const ask = known === undefined ? adopted : merge(known, adopted);
  // The clocks of another operation are none of this one.
  const same = targetVersion(ask.call) === row.targetVersion;
  return adoptTimers(ask, policy.uid, same ? storedTimers(policy, status, row, now) : [], now);
}

function askFromRow(row: DecisionRow, cluster: Cluster): Ask | undefined {
  const { hook, targetVersion: version } = row;
  const firstAsked = parseTime(row.firstAsked);
  if (firstAsked === undefined) return undefined;
  const field = ASKS_ABOUT_TARGET.has(hook) ? "toKubernetesVersion" : "kubernetesVersion";
  return {
    clusterUID: row.clusterUID,
    namespace: row.namespace,
    cluster: row.cluster,
    call: { hook, ...(version !== undefined && { [field]: version }) },
    firstAsked,
    rules: new Map(),
    resourceVersion: cluster.metadata.resourceVersion,
    marked: true,
  };
}

/** Of one operation, the first question; of two operations, the later one: every replica comes to the same. */
function merge(known: Ask, adopted: Ask): Ask {
  if (targetVersion(known.call) !== targetVersion(adopted.call)) {
    return adopted.firstAsked > known.firstAsked ? adopted : known;
  }
  return adopted.firstAsked < known.firstAsked ? { ...known, firstAsked: adopted.firstAsked } : known;
}

const ASKS_ABOUT_TARGET: ReadonlySet<HookName> = new Set([
  "BeforeClusterUpgrade",
  "BeforeControlPlaneUpgrade",
  "BeforeWorkersUpgrade",
]);

/**
 * Whether the Cluster itself shows that the operation went on, or is not wanted any more; never by silence.
 * Marks: Cluster API's core:internal/hooks/tracking.go and where each hook is called (topology reconcilers).
 */
export function hasEnded(ask: Ask, cluster: Cluster): boolean {
  const { metadata } = cluster;
  if (metadata.uid !== ask.clusterUID) return true;
  if ((compareResourceVersions(metadata.resourceVersion, ask.resourceVersion) ?? 0) < 0) return false;
  return SHOWS_END[ask.call.hook](ask, cluster);
}

/**
 * Whether the Cluster itself shows that Cluster API is about to do this. Whoever reaches the port can ask anything; what is
 * remembered, and above all what has a clock, must follow from what the API server says.
 */
export function isWanted(call: HookCall, cluster: Cluster): boolean {
  return SHOWS_BEGIN[call.hook](call, cluster);
}

const markIsThere =
  (hook: HookName) =>
  (_: HookCall, cluster: Cluster): boolean =>
    isPending(cluster, markOf(hook));

const SHOWS_BEGIN: Readonly<Record<HookName, (call: HookCall, cluster: Cluster) => boolean>> = {
  BeforeClusterCreate: (_, cluster) => !cluster.created,
  AfterControlPlaneInitialized: markIsThere("AfterControlPlaneInitialized"),
  BeforeClusterUpgrade: (call, cluster) =>
    cluster.topology?.version === targetVersion(call) && !isPending(cluster, "AfterClusterUpgrade"),
  BeforeControlPlaneUpgrade: (_, cluster) =>
    isPending(cluster, "AfterClusterUpgrade") && !isPending(cluster, "AfterControlPlaneUpgrade"),
  AfterControlPlaneUpgrade: markIsThere("AfterControlPlaneUpgrade"),
  BeforeWorkersUpgrade: markIsThere("BeforeWorkersUpgrade"),
  AfterWorkersUpgrade: markIsThere("AfterWorkersUpgrade"),
  AfterClusterUpgrade: markIsThere("AfterClusterUpgrade"),
  BeforeClusterDelete: (_, { metadata }) =>
    metadata.deletionTimestamp !== undefined &&
    lookup(metadata.annotations, OK_TO_DELETE_ANNOTATION) === undefined,
};

type ShowsEnd = (ask: Ask, cluster: Cluster) => boolean;

/** The mark in whose presence a hook is asked: its own; for a step of the control plane, the whole upgrade's. */
function markOf(hook: HookName): HookName {
  return hook === "BeforeControlPlaneUpgrade" ? "AfterClusterUpgrade" : hook;
}

const markIsGone: ShowsEnd = (ask, cluster) => ask.marked && !isPending(cluster, markOf(ask.call.hook));

const SHOWS_END: Readonly<Record<HookName, ShowsEnd>> = {
  BeforeClusterCreate: (_, cluster) => cluster.created,
  AfterControlPlaneInitialized: markIsGone,
  BeforeClusterUpgrade: ({ call }, cluster) =>
    isPending(cluster, "AfterClusterUpgrade") || cluster.topology?.version !== targetVersion(call),
  BeforeControlPlaneUpgrade: (ask, cluster) =>
    isPending(cluster, "AfterControlPlaneUpgrade") || markIsGone(ask, cluster),
  AfterControlPlaneUpgrade: markIsGone,
  BeforeWorkersUpgrade: markIsGone,
  AfterWorkersUpgrade: markIsGone,
  AfterClusterUpgrade: markIsGone,
  BeforeClusterDelete: (_, { metadata }) =>
    lookup(metadata.annotations, OK_TO_DELETE_ANNOTATION) !== undefined,
};

function isPending(cluster: Cluster, hook: HookName): boolean {
  const pending = lookup(cluster.metadata.annotations, PENDING_HOOKS_ANNOTATION);
  return pending?.split(",").includes(hook) ?? false;
}

function parseTime(text: string | undefined): Date | undefined {
  if (text === undefined) return undefined;
  const time = new Date(text);
  return Number.isNaN(time.getTime()) ? undefined : time;
}
