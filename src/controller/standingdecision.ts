/** Tells whether the operator would repeat a decision from memory: it would if all inputs are identical. */

import type { Cluster } from "../api/meta.ts";
import type { HookCall } from "../api/runtimehooks.ts";
import type { Decision } from "../policy/decision.ts";
import { clusterKey } from "../policy/cluster.ts";
import { readsCall, type Standing, standsUntil } from "../policy/standing.ts";
import { targetVersion } from "../policy/targetversion.ts";
import type { Memory } from "./memory.ts";

/** Tells whether a decision still stands that was made at `at` about a Cluster that the informer knows. `undefined`: unknown. */
export function standing(
  memory: Memory,
  cluster: Cluster,
  { decision, call, at }: { readonly decision: Decision; readonly call: HookCall; readonly at: Date },
): Standing | undefined {
  const { policies, overrides, operations, clusters, namespaces } = memory;
  const { namespace = "", uid } = cluster.metadata;
  const { hook } = call;
  const key = clusterKey(cluster);
  const { compiled } = policies.candidates(namespace);
  const until = standsUntil(compiled, decision);
  if (until === undefined) return undefined;
  const before = {
    overrides: overrides.ofCluster(cluster),
    operation: operations.get(uid, hook),
    cluster: clusters.get(key),
    namespace: namespaces.get(namespace),
  };
  const stands = (now: Date): boolean =>
    now >= at &&
    (until === "Never" || now < until) &&
    policies.candidates(namespace).compiled === compiled &&
    overrides.ofCluster(cluster) === before.overrides &&
    operations.get(uid, hook) === before.operation &&
    clusters.get(key) === before.cluster &&
    namespaces.get(namespace) === before.namespace;
  const isShown =
    before.operation !== undefined && targetVersion(before.operation.call) === targetVersion(call);
  return Object.assign(stands, { forAnyCall: isShown && !readsCall(compiled, decision) });
}
