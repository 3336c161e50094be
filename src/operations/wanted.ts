/** Whether a Cluster still wants the operation that a call is about: a release must not come after a change of mind. */

import { parse } from "semver";
import { STEP_HOOKS } from "../api/hook-catalog.ts";
import type { Cluster } from "../api/meta.ts";
import type { HookCall } from "../api/runtime-hooks.ts";
import { targetVersion } from "../api/target-version.ts";
import { orderOf } from "../policy/version-order.ts";
import { stepVersion, VERSIONED } from "./call.ts";
import { isPossible, type ServedUpgrades } from "./hook-lives.ts";

/**
 * Requires only what Cluster API has written before it calls: its spec and its marks. It writes its condition and the plan
 * of an upgrade after the answer (topology/cluster/status.go, reconcileStatus), so a first call precedes both.
 */
export function isWanted(call: HookCall, cluster: Cluster, served: ServedUpgrades): boolean {
  const { topology, paused } = cluster;
  if (topology === undefined || paused || !isPossible(call.hook, cluster, served)) return false;
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
