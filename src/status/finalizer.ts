/**
 * Keeps a HookPolicy that holds deletions until the Clusters that it holds are gone: when a namespace is deleted, the
 * namespace controller deletes policies and Clusters in any order.
 */

import { FINALIZER } from "../api/hook-policy.ts";
import type { ObjectMeta } from "../api/meta.ts";
import { type CompiledPolicy, isGated } from "../policy/policy.ts";
import type { PolicyApi } from "./policy-api.ts";

/** Whether the finalizer has to be added or removed, as far as memory tells. */
export function finalizerIsDue(
  policy: CompiledPolicy,
  { deletionTimestamp, finalizers = [], finalizersOmitted }: ObjectMeta,
  matchedClusters: number,
): boolean {
  // Writing the list would remove those of others.
  if (finalizersOmitted === true) return false;
  const has = finalizers.includes(FINALIZER);
  if (deletionTimestamp !== undefined) return has;
  return has !== (holdsDeletion(policy) && mayMatch(policy, matchedClusters));
}

/** The finalizers that the policy should have; `undefined`: leave them as they are. */
export async function wantedFinalizers(
  policy: CompiledPolicy,
  metadata: ObjectMeta,
  matchedClusters: number,
  api: PolicyApi,
): Promise<readonly string[] | undefined> {
  if (!finalizerIsDue(policy, metadata, matchedClusters)) return undefined;
  const { namespace = "", deletionTimestamp, finalizers = [] } = metadata;
  const without = finalizers.filter((finalizer) => finalizer !== FINALIZER);
  if (deletionTimestamp !== undefined)
    return (await mayGo(policy, { namespace, deletionTimestamp }, matchedClusters, api))
      ? without
      : undefined;
  const holds = holdsDeletion(policy);
  const wants = holds && mayMatch(policy, matchedClusters);
  // Replicas whose memories differ would add and remove it in turn, and it would be missing at times.
  if (holds && ((await api.hasCluster(namespace, policy.clusterSelector)) ?? false) !== wants)
    return undefined;
  return wants ? [...finalizers, FINALIZER] : without;
}

/** Memory does not compare Clusters with a policy that is too large, so a read of the API server decides. */
function mayMatch({ tooLarge }: CompiledPolicy, matchedClusters: number): boolean {
  return tooLarge === true || matchedClusters > 0;
}

function holdsDeletion({ ref, mode, rules }: CompiledPolicy): boolean {
  return (
    ref.kind === "HookPolicy" &&
    mode === "Enforce" &&
    rules.some((rule) => rule.hooks.has("BeforeClusterDelete") && isGated(rule))
  );
}

/**
 * The owner of a policy may delete it at once; with its namespace it stays until it holds nothing. A Namespace that is
 * younger than the deletion is another one of the name: the finalizers of the first were removed by force.
 */
async function mayGo(
  policy: CompiledPolicy,
  { namespace, deletionTimestamp }: Required<Pick<ObjectMeta, "namespace" | "deletionTimestamp">>,
  matchedClusters: number,
  api: PolicyApi,
): Promise<boolean> {
  const live = (await api.findNamespace(namespace))?.metadata;
  const isOwn = (live?.creationTimestamp ?? "") <= deletionTimestamp;
  if (live !== undefined && live.deletionTimestamp === undefined && isOwn) return true;
  const left = await api.hasCluster(namespace, policy.clusterSelector);
  // If the CRD of Clusters was deleted, memory gets no more events about them.
  return left === undefined || (!left && (policy.tooLarge === true || matchedClusters === 0));
}
