/** Reads from a Cluster which hooks Cluster API calls or is going to call, and which ones the Cluster has passed. */

import { STEP_HOOKS, type ServedHooks } from "../api/hookcatalog.ts";
import { BEFORE_UPGRADE_ANNOTATION, type Cluster, OK_TO_DELETE_ANNOTATION } from "../api/meta.ts";
import { HOOK_NAMES, type HookName } from "../api/runtimehooks.ts";
import { readTimestamp } from "../policy/instant.ts";
import { lookup } from "../policy/selector.ts";
import { isPending } from "./marks.ts";
import { isOfEarlierStep } from "./step.ts";

/** The meaning of the marks of this version of Cluster API. */
export type Served = Pick<ServedHooks, "marksUpgrades">;

/**
 * Whether the Cluster itself shows that Cluster API waits for the hook, or is going to. A caller can ask anything, so
 * what is remembered, and above all what has a clock, must follow from what the API server says. A creation and a
 * deletion show in the Cluster; for all other hooks, Cluster API's condition has to say that they hold it.
 */
export function isAwaited(hook: HookName, cluster: Cluster, served: Served): boolean {
  const { topology, paused, progress, metadata } = cluster;
  if (topology === undefined || paused || !isPossible(hook, cluster, served)) return false;
  if (hook === "BeforeClusterCreate" || hook === "BeforeClusterDelete") return true;
  // The condition says the same because of this annotation, but Cluster API then calls no extension.
  if (hook === "BeforeClusterUpgrade" && Object.keys(metadata.annotations ?? {}).some(isOwnHold))
    return false;
  return progress?.heldAt === hook && !(STEP_HOOKS.has(hook) && isOfEarlierStep(cluster));
}

function isOwnHold(annotation: string): boolean {
  return annotation.startsWith(BEFORE_UPGRADE_ANNOTATION);
}

export function isPossible(hook: HookName, cluster: Cluster, served: Served): boolean {
  return isDeleted(cluster) === (hook === "BeforeClusterDelete") && ALLOWS_BEGIN[hook](cluster, served);
}

/** Cluster API then calls no other hook (core/reconcilers/topology/cluster/cluster_controller.go, reconcileDelete). */
export function isDeleted({ metadata }: Cluster): boolean {
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
    readTimestamp(metadata.deletionTimestamp) !== undefined &&
    lookup(metadata.annotations, OK_TO_DELETE_ANNOTATION) === undefined,
};

/** The upgrade is under way: BeforeClusterUpgrade is not called for it again. */
export function hasBegun(cluster: Cluster, { marksUpgrades }: Served): boolean {
  if (!isPending(cluster, "AfterClusterUpgrade")) return false;
  const { begun, reconciled } = cluster.progress ?? {};
  return marksUpgrades || begun === true || reconciled === true;
}

/** Whether the Cluster has the version of its topology, and nothing of it is still to be done. */
export function isAtVersion(cluster: Cluster): boolean {
  return cluster.progress?.reconciled === true && !isPending(cluster, "AfterClusterUpgrade");
}

/** The hooks that the Cluster passed between the two versions; `now` undefined: it is gone. */
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
  // A mark on a Cluster that has nothing to do does not come from Cluster API.
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
