/** The call that Cluster API makes, or would make: as far as the Cluster shows it. */

import type { Cluster } from "../api/meta.ts";
import { type HookCall, type HookName, VERSION_FIELDS } from "../api/runtimehooks.ts";
import { isVersion, targetVersion } from "../policy/targetversion.ts";
import { STEPS, stepVersion, VERSIONED } from "./step.ts";

/** As Cluster API would call, as far as the Cluster shows it: settings are no matter of the Cluster. */
export function shownCall(hook: HookName, cluster: Cluster): HookCall {
  const from = shownFrom(hook, cluster);
  const call = {
    hook,
    ...(from !== undefined && { fromKubernetesVersion: from }),
  };
  return about(call, shownVersion(hook, cluster));
}

/** What the Cluster shows by now of the same operation. */
export function shownSince(known: HookCall, cluster: Cluster): HookCall {
  const call = shownCall(known.hook, cluster);
  return about(call, targetVersion(call) ?? targetVersion(known));
}

export function about(call: HookCall, version: string | undefined): HookCall {
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

export function shownVersion(hook: HookName, cluster: Cluster): string | undefined {
  if (VERSIONED.has(hook)) return wantedVersion(cluster);
  if (!STEPS.has(hook)) return undefined;
  const { plan } = cluster.progress ?? {};
  if (hook === "BeforeControlPlaneUpgrade") return plan?.[0];
  // Without a version of the step, and without any to come, it is the last one.
  return stepVersion(cluster) ?? (plan?.length === 0 ? wantedVersion(cluster) : undefined);
}

/**
 * As if Cluster API asked for the version that the Cluster's topology wants. Nothing tells which version an upgrade
 * comes from, nor the settings of the ExtensionConfig: an expression that looks at them is not evaluable.
 */
export function expectedCall(hook: HookName, cluster: Cluster, version?: string): HookCall {
  const wanted = version ?? cluster.topology?.version ?? "";
  if (wanted === "") return { hook };
  const fields = VERSION_FIELDS[hook].filter((field) => field !== "fromKubernetesVersion");
  return { hook, ...Object.fromEntries(fields.map((field) => [field, wanted])) };
}
