/** The calls of hooks that a Cluster shows, and the steps of an upgrade: Cluster API calls the same hooks for each step. */

import { STEP_HOOKS } from "../api/hook-catalog.ts";
import { type Cluster, UPGRADE_STEP_ANNOTATION } from "../api/meta.ts";
import { type HookCall, type HookName, VERSION_FIELDS } from "../api/runtime-hooks.ts";
import { lookup } from "../api/selector.ts";
import { isVersion, targetVersion } from "../api/target-version.ts";

/** The call that Cluster API waits for, as far as the Cluster shows it. A Cluster does not show the settings. */
export function shownCall(hook: HookName, cluster: Cluster): HookCall {
  return about(comingFrom({ hook }, shownFrom(hook, cluster)), shownVersion(hook, cluster));
}

/**
 * The call that Cluster API would make: about `version`, else about the version that the Cluster shows, else about the
 * version of its topology. A Cluster may not show the version that an upgrade comes from, and it never shows the settings:
 * expressions that read them are not evaluable.
 */
export function expectedCall(hook: HookName, cluster: Cluster, version?: string): HookCall {
  const shown = shownCall(hook, cluster);
  return about(shown, version ?? targetVersion(shown) ?? wantedVersion(cluster));
}

/** Adds what the Cluster shows about the same operation now. */
export function shownSince(known: HookCall, cluster: Cluster): HookCall {
  const call = shownCall(known.hook, cluster);
  return about(call, targetVersion(call) ?? targetVersion(known));
}

/** The call about `version`; a hook that is about no version keeps its call. */
export function about(call: HookCall, version: string | undefined): HookCall {
  const field = VERSION_FIELDS[call.hook].find((each) => each !== "fromKubernetesVersion");
  return version === undefined || field === undefined ? call : { ...call, [field]: version };
}

/** The call of an upgrade from `version`; a hook without such a field keeps its call. */
export function comingFrom(call: HookCall, version: string | undefined): HookCall {
  const has = version !== undefined && VERSION_FIELDS[call.hook].includes("fromKubernetesVersion");
  return has ? { ...call, fromKubernetesVersion: version } : call;
}

/** Whether the call skips a minor version, which one step of a control plane never does. */
export function skipsMinor({
  hook,
  fromKubernetesVersion: from,
  toKubernetesVersion: to,
}: HookCall): boolean {
  if (hook !== "BeforeControlPlaneUpgrade" || from === undefined || to === undefined) return false;
  const [a, b] = [from, to].map((version) => /^v?(\d+)\.(\d+)\./.exec(version));
  return a?.[1] !== b?.[1] || Number(b?.[2]) - Number(a?.[2]) > 1;
}

/**
 * The call after which the Cluster proceeded; `known`: that of the operation, which is absent if nothing had held it. The
 * marks of steps come and go while the status still shows an old plan, so the upgrade's version then stands for the versions
 * of its steps. An upgrade proceeds to the version that the Cluster has `now`.
 */
export function passedCall(
  hook: HookName,
  known: HookCall | undefined,
  { before, now }: { readonly before: Cluster; readonly now: Cluster },
): HookCall {
  if (hook === "BeforeClusterUpgrade")
    return about(known ?? shownCall(hook, before), wantedVersion(now) ?? wantedVersion(before));
  if (known !== undefined) return known;
  return STEP_HOOKS.has(hook) ? about({ hook }, wantedVersion(before)) : shownCall(hook, before);
}

function wantedVersion({ topology }: Cluster): string | undefined {
  return topology !== undefined && isVersion(topology.version) ? topology.version : undefined;
}

function shownFrom(hook: HookName, cluster: Cluster): string | undefined {
  if (hook === "BeforeControlPlaneUpgrade") return stepVersion(cluster);
  if (hook === "BeforeWorkersUpgrade") return cluster.progress?.workersVersion;
  return hook === "BeforeClusterUpgrade" ? cluster.progress?.version : undefined;
}

export function shownVersion(hook: HookName, cluster: Cluster): string | undefined {
  if (VERSIONED.has(hook)) return wantedVersion(cluster);
  if (!STEP_HOOKS.has(hook)) return undefined;
  const { plan } = cluster.progress ?? {};
  if (hook === "BeforeControlPlaneUpgrade") return plan?.[0];
  // A step without a version is the last one if the plan has no more versions.
  return stepVersion(cluster) ?? (plan?.length === 0 ? wantedVersion(cluster) : undefined);
}

/** The hooks that are called once per upgrade, about the version of the topology. */
export const VERSIONED: ReadonlySet<HookName> = new Set(["BeforeClusterUpgrade", "AfterClusterUpgrade"]);

/** The version in the control plane's spec: the step's target or, until the step begins, its origin. */
export function stepVersion({ metadata }: Cluster): string | undefined {
  const version = lookup(metadata.annotations, UPGRADE_STEP_ANNOTATION);
  return version !== undefined && isVersion(version) ? version : undefined;
}

/** Distinguishes one operation of a hook from the next. */
export function stepOf(hook: HookName, cluster: Cluster): string {
  const target = cluster.topology?.version ?? "";
  if (STEP_HOOKS.has(hook)) return `${target} ${stepVersion(cluster) ?? ""}`;
  return VERSIONED.has(hook) ? target : "";
}

/** Cluster API writes the step's annotation before the status: a plan that still has the step's version is old. */
export function isOfEarlierStep(cluster: Cluster): boolean {
  const version = stepVersion(cluster);
  return version !== undefined && cluster.progress?.plan?.includes(version) === true;
}
