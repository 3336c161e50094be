/** The instants at which time alone changes what a rollout says, as far as its status and its gates tell. */

import type { HookRolloutStatus } from "../../api/hookpolicy.ts";
import type { RolloutEntry } from "../../controller/rolloutentry.ts";
import { CLAIM_MS } from "../../controller/rolloutreconciler.ts";
import type { Decision } from "../../policy/decision.ts";
import { after, readTimestamp } from "../../policy/instant.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";

/** What reads the clock is looked at this often. */
const LOOK_AGAIN_MS = 60_000;

/** `waiting`: what policies say of the Clusters that are held. */
export function rolloutEdges(
  entries: readonly Pick<RolloutEntry, "rollout" | "status">[],
  waiting: readonly { readonly decision: Decision }[],
  now: Date,
): readonly Date[] {
  return [
    ...entries.flatMap(({ rollout, status = {} }) => [
      ...slotEdges(rollout, status),
      ...soakEdges(rollout, status),
      ...(waiting.length === 0 ? [] : gateEdges(rollout, now)),
    ]),
    ...waiting.flatMap(({ decision }) => policyEdges(decision, now)),
  ];
}

function slotEdges(
  { progressDeadlineMs }: CompiledRollout,
  { running = [] }: Pick<HookRolloutStatus, "running">,
): readonly Date[] {
  return running.flatMap(({ claimedAt, renewedAt, markedAt }) => [
    ...later(claimedAt, progressDeadlineMs),
    ...(markedAt === undefined ? later(renewedAt, CLAIM_MS) : []),
  ]);
}

function soakEdges(
  { stages }: CompiledRollout,
  { targets = [] }: Pick<HookRolloutStatus, "targets">,
): readonly Date[] {
  return targets
    .flatMap((target) => target.stages)
    .flatMap(({ name, soakingSince }) => {
      const stage = stages.find((each) => each.name === name);
      return stage === undefined ? [] : later(soakingSince, stage.minSuccessTimeMs);
    });
}

function gateEdges({ stages }: CompiledRollout, now: Date): readonly Date[] {
  return stages
    .flatMap(({ until }) => until)
    .flatMap(({ windows = [], usesNow }) => [
      ...windows.flatMap(({ window }) => window.at(now).changesAt ?? []),
      ...(usesNow === true ? [after(now, LOOK_AGAIN_MS)] : []),
    ]);
}

function policyEdges({ trace }: Decision, now: Date): readonly Date[] {
  return trace.flatMap(({ changesAt }) =>
    changesAt === "Unknown" ? after(now, LOOK_AGAIN_MS) : (changesAt ?? []),
  );
}

function later(text: string | undefined, ms: number): readonly Date[] {
  const at = readTimestamp(text);
  return at === undefined ? [] : [after(at, ms)];
}
