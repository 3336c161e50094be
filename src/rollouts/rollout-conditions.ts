/** The conditions of a HookRollout. */

import { CONDITION, type HookRolloutStatus, REASON } from "../api/hook-policy.ts";
import type { ObjectMeta } from "../api/meta.ts";
import { firstNames } from "../lib/first-names.ts";
import { namespacedName } from "../lib/keys.ts";
import { failing, type Finding } from "../status/conditions.ts";
import type { Member } from "./member.ts";
import type { CompiledRollout } from "./rollout.ts";
import { countingFailures, haltingStage } from "./stages.ts";

/** `unknown`: the Clusters that it may select, and of which memory lacks the labels. */
export function readiness(
  { problem, tooLarge, mode, paused }: CompiledRollout,
  { isRebuilding, unknown }: { readonly isRebuilding: boolean; readonly unknown: readonly Member[] },
): Finding[] {
  if (problem !== undefined) {
    const message = `Holds every Cluster that it may select: ${problem}`;
    const reason = tooLarge === true ? REASON.TooLarge : REASON.InvalidSpec;
    return failing(CONDITION.Ready, CONDITION.Stalled, { reason, message });
  }
  if (isRebuilding) {
    const message =
      "Its members have changed, its status was lost, or no operator ran: for 3 minutes nothing begins, until every Cluster that had begun shows it";
    return failing(CONDITION.Ready, CONDITION.Reconciling, { reason: REASON.StatusLost, message });
  }
  const message =
    mode === "Audit" ? "Records, and holds nothing" : paused ? "Paused: nothing more begins" : "In force";
  if (unknown.length > 0 && !paused) {
    const names = namesOf(unknown.map(({ metadata }) => metadata));
    const because = `the labels of ${names}, or of the namespace, are too large for memory: no stage passes without such Clusters if it may select them`;
    return [
      { type: CONDITION.Ready, status: "True", reason: REASON.TooLarge, message: `${message}; ${because}` },
    ];
  }
  const reason = mode === "Enforce" && paused ? REASON.Paused : REASON.Loaded;
  return [{ type: CONDITION.Ready, status: "True", reason, message }];
}

export function halted(
  rollout: CompiledRollout,
  slots: Pick<HookRolloutStatus, "failed" | "targets">,
): Finding {
  const stage = haltingStage(rollout, slots);
  if (stage === undefined) {
    const message = "No stage has more failures than it tolerates";
    return { type: CONDITION.Halted, status: "False", reason: REASON.NoFailures, message };
  }
  const failed = countingFailures(rollout, slots.failed, stage.name);
  const message = `Stage ${stage.name}: ${namesOf(failed)} failed. Nothing more begins until they are healthy, or until \`hookpolicy rollout resume ${rollout.name}\``;
  return { type: CONDITION.Halted, status: "True", reason: REASON.TooManyFailures, message };
}

const SHOWN = 3;

function namesOf(all: readonly Pick<ObjectMeta, "namespace" | "name">[]): string {
  return firstNames(all.map(namespacedName), SHOWN);
}
