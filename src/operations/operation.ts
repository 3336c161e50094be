/** What Cluster API has asked for and has not been let do yet: when an operation begins and when it ends. */

import {
  BEFORE_UPGRADE_ANNOTATION,
  type Cluster,
  OK_TO_DELETE_ANNOTATION,
  PENDING_HOOKS_ANNOTATION,
  UPGRADE_STEP_ANNOTATION,
} from "../api/meta.ts";
import type { DecisionRow, HookPolicyStatus } from "../api/hookpolicy.ts";
import { HOOK_NAMES, type HookCall, type HookName, VERSION_FIELDS } from "../api/runtimehooks.ts";
import { isVersion, targetVersion } from "../policy/targetversion.ts";
import type { ServedHooks } from "../api/hookcatalog.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import { lookup } from "../policy/selector.ts";
import { adoptTimers, storedTimers } from "./timers.ts";
import { type Asked, firstAskedBy } from "../policy/world.ts";

export interface Ask extends Asked {
  readonly clusterUID: string;
  readonly namespace: string;
  readonly cluster: string;
  readonly call: HookCall;
  /** As the Cluster shows it: tells one step of an upgrade from the next, which are asked about by the same hook. */
  readonly step: string;
  /** Cluster API's own mark of the hook was there: when it goes, the hook has let the Cluster go on. */
  readonly marked: boolean;
}

/** What the marks of this version of Cluster API mean. */
type Served = Pick<ServedHooks, "marksUpgrades">;

export function askKey(clusterUID: string, hook: HookName): string {
  return `${clusterUID}/${hook}`;
}

/** Another target is another operation, and its clocks start anew. */
export function newAsk(call: HookCall, cluster: Cluster, now: Date, before: Ask | undefined): Ask {
  const { uid, name, namespace, deletionTimestamp } = cluster.metadata;
  const same = before !== undefined && targetVersion(before.call) === targetVersion(call);
  const begun = call.hook === "BeforeClusterDelete" ? parseTime(deletionTimestamp) : undefined;
  return {
    clusterUID: uid,
    namespace: namespace ?? "",
    cluster: name,
    call,
    firstAsked: begun ?? (same ? before.firstAsked : now),
    ...(same && before.saidBy !== undefined && { saidBy: before.saidBy }),
    rules: same ? before.rules : new Map(),
    step: stepOf(call.hook, cluster),
    marked: (same && before.marked) || isPending(cluster, markOf(call.hook)),
  };
}

/** A call that is not about what is remembered is decided as if it were asked for the first time. */
export function answering(ask: Ask | undefined, call: HookCall, now: Date): Asked {
  return ask !== undefined && isAbout(ask, call) ? ask : { firstAsked: now, rules: new Map() };
}

/** The version in a call is the caller's word: it can only make the caller miss what is remembered. */
function isAbout(ask: Ask, call: HookCall): boolean {
  const version = targetVersion(ask.call);
  return version === undefined || version === targetVersion(call);
}

export interface ShownContext {
  readonly now: Date;
  readonly served: Served;
}

/**
 * The operation on which Cluster API waits for this hook, or is going to, as the Cluster itself shows it: every replica
 * sees that by itself, also after a restart. Calls have no say in it.
 */
export function shownAsk(hook: HookName, cluster: Cluster, { now, served }: ShownContext): Ask | undefined {
  return isAsked(hook, cluster, served)
    ? newAsk(shownCall(hook, cluster), cluster, now, undefined)
    : undefined;
}

/** A Cluster that is being deleted is going to be asked about, if it has not been yet. */
export function deletionAsk(cluster: Cluster, served: Served): Ask | undefined {
  const begun = parseTime(cluster.metadata.deletionTimestamp);
  return begun && shownAsk("BeforeClusterDelete", cluster, { now: begun, served });
}

/** Where a status row comes from, and what is known besides. */
export interface RowContext {
  readonly cluster: Cluster;
  readonly policy: CompiledPolicy;
  readonly status: HookPolicyStatus | undefined;
  readonly known: Ask | undefined;
  readonly now: Date;
  readonly served: Served;
}

/**
 * The operation that a row tells of, written by another replica or before a restart, together with what is known of it;
 * nothing, if the Cluster shows no such operation. What the row says counts for its own policy only.
 */
export function adoptRow(
  row: DecisionRow,
  { cluster, policy, status, known, now, served }: RowContext,
): Ask | undefined {
  const firstAsked = parseTime(row.firstAsked);
  if (firstAsked === undefined || !isRowOf(policy, row)) return undefined;
  const ask = known ?? hearsay(row, cluster, firstAsked, served);
  if (ask === undefined || !isSameStep(ask, row)) return undefined;
  const own = firstAskedBy(ask, policy.uid);
  const isNews = row.hook !== "BeforeClusterDelete" && (own === undefined || firstAsked < own);
  const saidBy = isNews ? new Map(ask.saidBy).set(policy.uid, firstAsked) : ask.saidBy;
  const adopted = saidBy === undefined ? ask : { ...ask, saidBy };
  return adoptTimers(adopted, policy.uid, storedTimers(policy, status, row, now), now);
}

/** A status is written by whoever may: its rows are about the Clusters and rules of the policy, or about nothing. */
function isRowOf({ ref, rules }: CompiledPolicy, row: DecisionRow): boolean {
  if (ref.kind === "HookPolicy" && ref.namespace !== row.namespace) return false;
  return rules.some(({ hooks }) => hooks.has(row.hook));
}

/** Rows tell steps apart by their version alone. */
function isSameStep({ call }: Ask, { hook, targetVersion: version }: DecisionRow): boolean {
  if (version === undefined && STEPS.has(hook)) return false;
  return targetVersion(call) === version;
}

/** The Cluster could be waiting, and does not say so just now: Cluster API's last call has failed, for example. */
function hearsay(
  { hook, targetVersion: version = "" }: DecisionRow,
  cluster: Cluster,
  firstAsked: Date,
  served: Served,
): Ask | undefined {
  if (!isPossible(hook, cluster, served)) return undefined;
  const shown = shownCall(hook, cluster);
  const isShown = !STEPS.has(hook) || targetVersion(shown) !== undefined;
  // The version of the row stands until the Cluster shows another one; that of the step before is over.
  if (!isShown && (!isVersion(version) || version === shown.fromKubernetesVersion)) return undefined;
  const call = isShown ? shown : about(shown, version);
  return { ...newAsk(call, cluster, firstAsked, undefined), hearsay: true };
}

/** Those that are called for every step of an upgrade. */
const STEPS: ReadonlySet<HookName> = new Set([
  "BeforeControlPlaneUpgrade",
  "AfterControlPlaneUpgrade",
  "BeforeWorkersUpgrade",
  "AfterWorkersUpgrade",
]);

/** The control plane's version in this step of an upgrade: of it, or from it where the next one has not begun. */
function stepVersion({ metadata }: Cluster): string | undefined {
  const version = lookup(metadata.annotations, UPGRADE_STEP_ANNOTATION);
  return version !== undefined && isVersion(version) ? version : undefined;
}

function stepOf(hook: HookName, cluster: Cluster): string {
  const target = cluster.topology?.version ?? "";
  if (STEPS.has(hook)) return `${target} ${stepVersion(cluster) ?? ""}`;
  return VERSIONED.has(hook) ? target : "";
}

const VERSIONED: ReadonlySet<HookName> = new Set(["BeforeClusterUpgrade", "AfterClusterUpgrade"]);

/** As Cluster API would call, as far as the Cluster shows it: settings are no matter of the Cluster. */
function shownCall(hook: HookName, cluster: Cluster): HookCall {
  const from = shownFrom(hook, cluster);
  const call = {
    hook,
    ...(from !== undefined && { fromKubernetesVersion: from }),
  };
  return about(call, shownVersion(hook, cluster));
}

/** What the Cluster shows by now of the same operation. */
export function shownSince(ask: Ask, cluster: Cluster): HookCall {
  const call = shownCall(ask.call.hook, cluster);
  return about(call, targetVersion(call) ?? targetVersion(ask.call));
}

function about(call: HookCall, version: string | undefined): HookCall {
  if (version === undefined) return call;
  return {
    ...call,
    [VERSION_FIELDS[call.hook].includes("toKubernetesVersion") ? "toKubernetesVersion" : "kubernetesVersion"]:
      version,
  };
}

/**
 * The call after which the Cluster went on, where nothing had held it: the marks of a step come and go while the status
 * still shows the plan of before, and more than once, so that the upgrade's version stands for that of its steps.
 */
export function passedCall(hook: HookName, cluster: Cluster): HookCall {
  return STEPS.has(hook) ? about({ hook }, wantedVersion(cluster)) : shownCall(hook, cluster);
}

function wantedVersion({ topology }: Cluster): string | undefined {
  return topology !== undefined && isVersion(topology.version) ? topology.version : undefined;
}

function shownFrom(hook: HookName, cluster: Cluster): string | undefined {
  if (hook === "BeforeControlPlaneUpgrade") return stepVersion(cluster);
  if (hook === "BeforeWorkersUpgrade") return cluster.progress?.workersVersion;
  return hook === "BeforeClusterUpgrade" ? cluster.progress?.version : undefined;
}

function shownVersion(hook: HookName, cluster: Cluster): string | undefined {
  if (VERSIONED.has(hook)) return wantedVersion(cluster);
  if (!STEPS.has(hook)) return undefined;
  const { plan } = cluster.progress ?? {};
  if (hook === "BeforeControlPlaneUpgrade") return plan?.[0];
  // Without a version of the step, and without any to come, it is the last one.
  return stepVersion(cluster) ?? (plan?.length === 0 ? wantedVersion(cluster) : undefined);
}

/**
 * Whether the Cluster itself shows that the operation went on, or is not wanted any more; never by silence.
 * Marks: Cluster API's core:internal/hooks/tracking.go and where each hook is called (topology reconcilers).
 */
export function hasEnded(ask: Ask, cluster: Cluster, served: Served): boolean {
  const { hook } = ask.call;
  if (cluster.metadata.uid !== ask.clusterUID || stepOf(hook, cluster) !== ask.step) return true;
  const version = shownVersion(hook, cluster);
  // A condition that tells of an error shows no version, and so no other one.
  if (version !== undefined && version !== targetVersion(ask.call)) return true;
  if (isDeleted(cluster) && hook !== "BeforeClusterDelete") return true;
  return SHOWS_END[hook](ask, cluster, served);
}

/**
 * Whether the Cluster itself shows that Cluster API waits for the hook, or is going to. Whoever reaches the port can ask
 * anything: what is remembered, and above all what has a clock, must follow from what the API server says. A creation
 * and a deletion show in the Cluster; of all others Cluster API's condition has to say that they hold it.
 */
export function isAsked(hook: HookName, cluster: Cluster, served: Served): boolean {
  const { topology, paused, progress, metadata } = cluster;
  if (topology === undefined || paused || !isPossible(hook, cluster, served)) return false;
  if (hook === "BeforeClusterCreate" || hook === "BeforeClusterDelete") return true;
  // The condition says the same of this annotation, because of which nobody is asked.
  if (hook === "BeforeClusterUpgrade" && Object.keys(metadata.annotations ?? {}).some(isOwnHold))
    return false;
  return progress?.heldAt === hook && !(STEPS.has(hook) && isOfEarlierStep(cluster));
}

/** The annotation of a step is written before the status: a plan that still has the step's version is of the one before. */
function isOfEarlierStep(cluster: Cluster): boolean {
  const version = stepVersion(cluster);
  return version !== undefined && cluster.progress?.plan?.includes(version) === true;
}

function isOwnHold(annotation: string): boolean {
  return annotation.startsWith(BEFORE_UPGRADE_ANNOTATION);
}

function isPossible(hook: HookName, cluster: Cluster, served: Served): boolean {
  return isDeleted(cluster) === (hook === "BeforeClusterDelete") && ALLOWS_BEGIN[hook](cluster, served);
}

/** Then Cluster API calls no other hook (core/reconcilers/topology/cluster/cluster_controller.go, reconcileDelete). */
function isDeleted({ metadata }: Cluster): boolean {
  return metadata.deletionTimestamp !== undefined;
}

const markIsThere =
  (hook: HookName) =>
  (cluster: Cluster): boolean =>
    isPending(cluster, hook);

const ALLOWS_BEGIN: Readonly<Record<HookName, (cluster: Cluster, served: Served) => boolean>> = {
  BeforeClusterCreate: ({ created }) => !created,
  AfterControlPlaneInitialized: markIsThere("AfterControlPlaneInitialized"),
  BeforeClusterUpgrade: (cluster, served) => !hasBegun(cluster, served) && !isAtVersion(cluster),
  BeforeControlPlaneUpgrade: (cluster) =>
    isPending(cluster, "AfterClusterUpgrade") && !isPending(cluster, "AfterControlPlaneUpgrade"),
  AfterControlPlaneUpgrade: markIsThere("AfterControlPlaneUpgrade"),
  BeforeWorkersUpgrade: markIsThere("BeforeWorkersUpgrade"),
  AfterWorkersUpgrade: markIsThere("AfterWorkersUpgrade"),
  AfterClusterUpgrade: markIsThere("AfterClusterUpgrade"),
  BeforeClusterDelete: ({ metadata }) =>
    parseTime(metadata.deletionTimestamp) !== undefined &&
    lookup(metadata.annotations, OK_TO_DELETE_ANNOTATION) === undefined,
};

/** The upgrade is under way: BeforeClusterUpgrade is not called for it again. */
function hasBegun(cluster: Cluster, { marksUpgrades }: Served): boolean {
  if (!isPending(cluster, "AfterClusterUpgrade")) return false;
  const { begun, reconciled } = cluster.progress ?? {};
  return marksUpgrades || begun === true || reconciled === true;
}

/** It has the version of its topology, and nothing of it is still to be done. */
function isAtVersion(cluster: Cluster): boolean {
  return cluster.progress?.reconciled === true && !isPending(cluster, "AfterClusterUpgrade");
}

/** The hooks after which the Cluster went on between the one and the other; `now` undefined: it is gone. */
export function passedHooks(before: Cluster, now: Cluster | undefined, served: Served): HookName[] {
  if (before.topology === undefined) return [];
  return HOOK_NAMES.filter((hook) => {
    if (now === undefined) return hook === "BeforeClusterDelete" && isPossible(hook, before, served);
    return SHOWS_PASSED[hook](before, now, served);
  });
}

type ShowsPassed = (before: Cluster, now: Cluster, served: Served) => boolean;

const markCame =
  (hook: HookName): ShowsPassed =>
  (before, now) =>
    !isPending(before, hook) && isPending(now, hook);
const markWent =
  (hook: HookName): ShowsPassed =>
  (before, now, served) =>
    markCame(hook)(now, before, served);

const SHOWS_PASSED: Readonly<Record<HookName, ShowsPassed>> = {
  BeforeClusterCreate: (before, now) => !before.created && now.created,
  AfterControlPlaneInitialized: markWent("AfterControlPlaneInitialized"),
  // A mark on a Cluster that has nothing to do is not Cluster API's.
  BeforeClusterUpgrade: (before, now, served) =>
    !hasBegun(before, served) &&
    hasBegun(now, served) &&
    !(served.marksUpgrades && now.progress?.reconciled === true),
  BeforeControlPlaneUpgrade: markCame("AfterControlPlaneUpgrade"),
  AfterControlPlaneUpgrade: markWent("AfterControlPlaneUpgrade"),
  BeforeWorkersUpgrade: markWent("BeforeWorkersUpgrade"),
  AfterWorkersUpgrade: markWent("AfterWorkersUpgrade"),
  AfterClusterUpgrade: markWent("AfterClusterUpgrade"),
  BeforeClusterDelete: (before, { metadata }, served) =>
    isPossible("BeforeClusterDelete", before, served) &&
    lookup(metadata.annotations, OK_TO_DELETE_ANNOTATION) !== undefined,
};

type ShowsEnd = (ask: Ask, cluster: Cluster, served: Served) => boolean;

/** The mark in whose presence a hook is asked: its own; for a step of the control plane, the whole upgrade's. */
function markOf(hook: HookName): HookName {
  return hook === "BeforeControlPlaneUpgrade" ? "AfterClusterUpgrade" : hook;
}

const markIsGone: ShowsEnd = (ask, cluster) => ask.marked && !isPending(cluster, markOf(ask.call.hook));

const SHOWS_END: Readonly<Record<HookName, ShowsEnd>> = {
  BeforeClusterCreate: (_, cluster) => cluster.created,
  AfterControlPlaneInitialized: markIsGone,
  BeforeClusterUpgrade: (_, cluster, served) => hasBegun(cluster, served) || isAtVersion(cluster),
  BeforeControlPlaneUpgrade: (ask, cluster, served) =>
    isPending(cluster, "AfterControlPlaneUpgrade") || markIsGone(ask, cluster, served),
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
