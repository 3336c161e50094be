/** Gauges of the status of HookRollouts. */

import { CONDITION, type HookRolloutStatus } from "../api/hook-policy.ts";
import type { Rollouts } from "../rollouts/rollout-decisions.ts";
import type { Metrics, Sample } from "./metrics.ts";

const STATES = ["notAsked", "waiting", "running", "succeeded", "failed"] as const;

export function followRollouts(metrics: Metrics, rollouts: Pick<Rollouts, "entries">): void {
  const each = <T>(read: (name: string, status: HookRolloutStatus) => readonly T[]): T[] =>
    rollouts.entries().flatMap(({ rollout, status }) => read(rollout.name, status ?? {}));
  metrics.rolloutClusters.follow(() => each(countRolloutClusters));
  metrics.rolloutHalted.follow(() => each(countRolloutHalts));
}

/** Counts the stages of the current target; a rollout of creations or deletions has only one. */
export function countRolloutClusters(
  rollout: string,
  { target, targets = [] }: HookRolloutStatus,
): Sample<"rollout" | "stage" | "state">[] {
  const current = targets.find(({ version }) => version === target) ?? targets[0];
  return (current?.stages ?? []).flatMap((stage) =>
    STATES.map((state) => ({ labels: { rollout, stage: stage.name, state }, value: stage[state] })),
  );
}

export function countRolloutHalts(
  rollout: string,
  { conditions = [] }: HookRolloutStatus,
): Sample<"rollout">[] {
  const isHalted = conditions.some(({ type, status }) => type === CONDITION.Halted && status === "True");
  return [{ labels: { rollout }, value: Number(isHalted) }];
}
