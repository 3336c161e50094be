/** Reads from a Cluster which hooks Cluster API calls or will call, which of them it still wants, and which it has passed. */

import { parse } from "semver";
import { STEP_HOOKS, type ServedHooks } from "../api/hook-catalog.ts";
import {
  BEFORE_UPGRADE_ANNOTATION,
  type Cluster,
  type ObjectMeta,
  OK_TO_DELETE_ANNOTATION,
  PENDING_HOOKS_ANNOTATION,
} from "../api/meta.ts";
import { type HookCall, HOOK_NAMES, type HookName } from "../api/runtime-hooks.ts";
import { readTimestamp } from "../lib/instant.ts";
import { lookup } from "../api/selector.ts";
import { targetVersion } from "../api/target-version.ts";
import { orderOf } from "../policy/version-order.ts";
import { isOfEarlierStep, stepVersion, VERSIONED } from "./call.ts";

/** The meaning of the marks of this version of Cluster API. */
export type ServedUpgrades = Pick<ServedHooks, "marksUpgrades">;

/** Whether the Cluster has Cluster API's mark of a hook that it still has to call. */
export function isPending(cluster: Pick<Cluster, "metadata">, hook: HookName): boolean {
  const pending = lookup(cluster.metadata.annotations, PENDING_HOOKS_ANNOTATION);
  return pending?.split(",").includes(hook) ?? false;
}

/** The mark that a call of the hook requires: the hook's own or, for BeforeControlPlaneUpgrade, the upgrade's. */
export function markOf(hook: HookName): HookName {
  return hook === "BeforeControlPlaneUpgrade" ? "AfterClusterUpgrade" : hook;
}

/**
 * Whether the Cluster itself shows that an operation is pending at the hook. Any caller can send any call, so everything
 * that is remembered must follow from the API server, above all clocks. A Cluster shows its creation and deletion; for all
 * other hooks, Cluster API's condition has to say that they block it.
 */
export function isAwaited(hook: HookName, cluster: Cluster, served: ServedUpgrades): boolean {
  const { topology, paused, progress, metadata } = cluster;
  if (topology === undefined || paused || !isPossible(hook, cluster, served)) return false;
  if (hook === "BeforeClusterCreate" || hook === "BeforeClusterDelete") return true;
  // This annotation blocks the upgrade, too, with the same condition, but Cluster API then calls no extension.
  if (hook === "BeforeClusterUpgrade" && ownHolds(metadata).length > 0) return false;
  return progress?.heldAt === hook && !(STEP_HOOKS.has(hook) && isOfEarlierStep(cluster));
}

/** The annotations by which Cluster API itself holds an upgrade. */
export function ownHolds({ annotations = {} }: ObjectMeta): readonly string[] {
  return Object.keys(annotations).filter((key) => key.startsWith(BEFORE_UPGRADE_ANNOTATION));
}

export function isPossible(hook: HookName, cluster: Cluster, served: ServedUpgrades): boolean {
  return (
    isBeingDeleted(cluster) === (hook === "BeforeClusterDelete") && HOOK_LIVES[hook].allows(cluster, served)
  );
}

/** Cluster API then calls only BeforeClusterDelete (topology/cluster/cluster_controller.go, reconcileDelete). */
export function isBeingDeleted({ metadata }: Cluster): boolean {
  return metadata.deletionTimestamp !== undefined;
}

/**
 * Whether a Cluster without the mark is not being created any more: in each creation the mark goes for a moment and comes again
 * (Cluster API 1.14, reconcileCluster), and it goes for good once this condition is True (topology/cluster/reconcile_state.go).
 */
export function isCreationOver(cluster: Cluster): boolean {
  const isTrue = cluster.status?.conditions.some(
    ({ type, status }) => type === "ControlPlaneInitialized" && status === "True",
  );
  return isTrue === true || isBeingDeleted(cluster);
}

/** Whether the upgrade is under way, so that BeforeClusterUpgrade is not called for it again. */
export function upgradeHasBegun(cluster: Cluster, { marksUpgrades }: ServedUpgrades): boolean {
  if (!isPending(cluster, "AfterClusterUpgrade")) return false;
  const { begun, reconciled } = cluster.progress ?? {};
  return marksUpgrades || begun === true || reconciled === true;
}

/**
 * Whether the version of the topology changed while the upgrade's mark was there: since Cluster API 1.12, no BeforeClusterUpgrade
 * is called for the new one (exp/topology/desiredstate/lifecycle_hooks.go, callBeforeClusterUpgradeHook). Its webhook refuses
 * the change, but not under `disable-update-version-check`.
 */
export function passesUnasked(before: Cluster, now: Cluster, { marksUpgrades }: ServedUpgrades): boolean {
  const [from, to] = [before.topology?.version, now.topology?.version];
  const isUpgraded = [before, now].every((cluster) => isPending(cluster, "AfterClusterUpgrade"));
  return marksUpgrades && isUpgraded && from !== to && to !== undefined && !isBeingDeleted(now);
}

/** Whether the Cluster has the version of its topology, and no upgrade is under way. */
export function isAtVersion(cluster: Cluster): boolean {
  return cluster.progress?.reconciled === true && !isPending(cluster, "AfterClusterUpgrade");
}

/** The hooks that the Cluster passed between the two versions; `now` undefined: it is gone. */
export function passedHooks(before: Cluster, now: Cluster | undefined, served: ServedUpgrades): HookName[] {
  if (before.topology === undefined) return [];
  return HOOK_NAMES.filter((hook) => {
    if (now === undefined) return hook === "BeforeClusterDelete" && isPossible(hook, before, served);
    return HOOK_LIVES[hook].passed(before, now, served);
  });
}

/**
 * Whether the Cluster still wants the operation that a call is about: a release must not come after a change of mind. Requires only what Cluster API has written before it calls: its spec and its marks. It writes its condition and the plan
 * of an upgrade after the answer (topology/cluster/status.go, reconcileStatus), so a first call precedes both.
 */
export function isWanted(call: HookCall, cluster: Cluster, served: ServedUpgrades): boolean {
  const { topology, paused } = cluster;
  // A pause is no change of mind where nothing is released: Cluster API may not call again, and the tasks wait.
  const isHalted = paused && call.hook !== "AfterControlPlaneInitialized";
  if (topology === undefined || isHalted || !isPossible(call.hook, cluster, served)) return false;
  const version = targetVersion(call);
  if (VERSIONED.has(call.hook)) return version === topology.version;
  if (!STEP_HOOKS.has(call.hook)) return true;
  return version !== undefined && !isLater(version, topology.version) && isNextStep(call, cluster);
}

/**
 * The annotation has the version of the control plane's spec, which every other hook of a step is about. Where it is old,
 * because the write after the step has failed, Cluster API replaces it after an answer that holds
 * (topology/cluster/reconcile_state.go, reconcileCluster).
 */
function isNextStep(call: HookCall, cluster: Cluster): boolean {
  const step = stepVersion(cluster);
  return step === undefined || (step === targetVersion(call)) === (call.hook !== "BeforeControlPlaneUpgrade");
}

/**
 * No plan goes past its target, but through another build of it where builds have no order
 * (exp/topology/desiredstate/upgrade_plan.go, DefaultAndValidateUpgradePlans).
 */
function isLater(version: string, target: string): boolean {
  const [a, b] = [parse(version), parse(target)];
  return a !== null && b !== null && (orderOf(a, b) ?? 0) > 0;
}

/** What a Cluster shows of an operation at a hook. */
interface HookLife {
  /** Whether the operation may be pending. */
  readonly allows: (cluster: Cluster, served: ServedUpgrades) => boolean;
  /** Whether it is over; `marked`: Cluster API's mark was there. */
  readonly ends: (marked: boolean, cluster: Cluster, served: ServedUpgrades) => boolean;
  readonly passed: (before: Cluster, now: Cluster, served: ServedUpgrades) => boolean;
}

/** A hook whose mark is there until the hook has released the Cluster. */
function byMark(hook: HookName): HookLife {
  return {
    allows: (cluster) => isPending(cluster, hook),
    ends: (marked, cluster) => marked && !isPending(cluster, hook),
    passed: (before, now) => isPending(before, hook) && !isPending(now, hook),
  };
}

const INITIALIZATION = byMark("AfterControlPlaneInitialized");

function isReleased({ metadata }: Cluster): boolean {
  return lookup(metadata.annotations, OK_TO_DELETE_ANNOTATION) !== undefined;
}

export const HOOK_LIVES: Readonly<Record<HookName, HookLife>> = {
  BeforeClusterCreate: {
    allows: ({ created }) => !created,
    ends: (_, { created }) => created,
    passed: (before, now) => !before.created && now.created,
  },
  AfterControlPlaneInitialized: {
    ...INITIALIZATION,
    // The write with which Cluster API creates the Cluster takes the mark away for a moment (1.14, reconcileCluster).
    passed: (before, now, served) => before.created && INITIALIZATION.passed(before, now, served),
  },
  BeforeClusterUpgrade: {
    allows: (cluster, served) => !upgradeHasBegun(cluster, served) && !isAtVersion(cluster),
    ends: (_, cluster, served) => upgradeHasBegun(cluster, served) || isAtVersion(cluster),
    // Cluster API does not write the mark on a Cluster that is up to date.
    passed: (before, now, served) =>
      passesUnasked(before, now, served) ||
      (!upgradeHasBegun(before, served) &&
        upgradeHasBegun(now, served) &&
        !(served.marksUpgrades && now.progress?.reconciled === true)),
  },
  BeforeControlPlaneUpgrade: {
    allows: (cluster) =>
      isPending(cluster, "AfterClusterUpgrade") && !isPending(cluster, "AfterControlPlaneUpgrade"),
    ends: (marked, cluster) =>
      isPending(cluster, "AfterControlPlaneUpgrade") ||
      (marked && !isPending(cluster, "AfterClusterUpgrade")),
    passed: (before, now) =>
      !isPending(before, "AfterControlPlaneUpgrade") && isPending(now, "AfterControlPlaneUpgrade"),
  },
  AfterControlPlaneUpgrade: byMark("AfterControlPlaneUpgrade"),
  BeforeWorkersUpgrade: byMark("BeforeWorkersUpgrade"),
  AfterWorkersUpgrade: byMark("AfterWorkersUpgrade"),
  AfterClusterUpgrade: byMark("AfterClusterUpgrade"),
  BeforeClusterDelete: {
    allows: (cluster) =>
      readTimestamp(cluster.metadata.deletionTimestamp) !== undefined && !isReleased(cluster),
    ends: (_, cluster) => isReleased(cluster),
    passed: (before, now, served) => isPossible("BeforeClusterDelete", before, served) && isReleased(now),
  },
};
