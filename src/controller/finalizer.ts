/**
 * A HookPolicy that holds deletions must not vanish before the Clusters that it holds when their namespace
 * is deleted, because the namespace controller deletes policy and Clusters in any order.
 */

import { FINALIZER } from "../api/hookpolicy.ts";
import type { ObjectMeta } from "../api/meta.ts";
import { type CompiledPolicy, isGated } from "../policy/policy.ts";
import type { FinalizerReader } from "./ports.ts";

/** Whether memory wants to add or remove it: before that is done, the policy may vanish too early or stay too long. */
export function finalizerIsDue(
  policy: CompiledPolicy,
  { deletionTimestamp, finalizers = [] }: ObjectMeta,
  matchedClusters: number,
): boolean {
  const has = finalizers.includes(FINALIZER);
  if (deletionTimestamp !== undefined) return has;
  return has !== (holdsDeletion(policy) && matchedClusters > 0);
}

/** The finalizers that the policy should have; `undefined`: leave them as they are. */
export async function wantedFinalizers(
  policy: CompiledPolicy,
  metadata: ObjectMeta,
  matchedClusters: number,
  reader: FinalizerReader,
): Promise<readonly string[] | undefined> {
  if (!finalizerIsDue(policy, metadata, matchedClusters)) return undefined;
  const present = metadata.finalizers ?? [];
  const without = present.filter((finalizer) => finalizer !== FINALIZER);
  if (metadata.deletionTimestamp !== undefined) {
    return (await mayGo(policy, metadata, matchedClusters, reader)) ? without : undefined;
  }
  const holds = holdsDeletion(policy);
  const wants = holds && matchedClusters > 0;
  // Memory may be behind and another replica ahead: both would change it to and fro, and it would be missing at times.
  if (holds && (await hasMatching(policy, metadata, reader)) !== wants) return undefined;
  return wants ? [...present, FINALIZER] : without;
}

async function hasMatching(
  { clusterSelector }: CompiledPolicy,
  { namespace = "" }: ObjectMeta,
  reader: FinalizerReader,
): Promise<boolean> {
  return (await reader.hasCluster(namespace, clusterSelector)) ?? false;
}

function holdsDeletion({ ref, mode, rules }: CompiledPolicy): boolean {
  return (
    ref.kind === "HookPolicy" &&
    mode === "Enforce" &&
    rules.some((rule) => rule.hooks.has("BeforeClusterDelete") && isGated(rule))
  );
}

/** Its owner may delete it at once; in a namespace that is being deleted it stays until nothing is left to hold. */
async function mayGo(
  policy: CompiledPolicy,
  metadata: ObjectMeta,
  matchedClusters: number,
  reader: FinalizerReader,
): Promise<boolean> {
  const live = await reader.findNamespace(metadata.namespace ?? "");
  if (live?.metadata.deletionTimestamp === undefined) return true;
  const left = await reader.hasCluster(metadata.namespace ?? "", policy.clusterSelector);
  // Memory gets no more events about a kind that is gone.
  return left === undefined || (matchedClusters === 0 && !left);
}
