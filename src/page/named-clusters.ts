/** The Clusters in the lanes of a rollout. */

import type { HookRollout, HookRolloutStatus, RolloutFailure } from "../api/hook-policy.ts";

/** A Cluster that the status of a rollout names. */
export interface NamedCluster {
  readonly cluster: string;
  readonly stage: string;
  readonly target: string;
  readonly since: string;
  readonly reason?: string;
}

export function clustersOf({
  status,
}: HookRollout): Readonly<Record<"next" | "running" | "failed", readonly NamedCluster[]>> {
  const { next = [], running = [], failed = [] }: HookRolloutStatus = status ?? {};
  return {
    next: next.map((each) => named(each, each.since)),
    running: running.map((each) => named(each, each.claimedAt)),
    // Stages do not count those that began without a slot.
    failed: failed
      .filter(({ reason }) => reason !== "UnclaimedOperation")
      .map((each) => ({ ...named(each, each.time), reason: each.reason })),
  };
}

function named(
  {
    namespace,
    name,
    stage = "",
    target = "",
  }: Pick<RolloutFailure, "namespace" | "name" | "stage" | "target">,
  at: string,
): NamedCluster {
  return { cluster: `${namespace}/${name}`, stage, target, since: at };
}
