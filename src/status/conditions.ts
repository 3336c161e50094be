import { CONDITION, MAX_CONDITION_MESSAGE } from "../api/hook-policy.ts";
import type { Condition } from "../api/meta.ts";
import { printable } from "../lib/printable.ts";
import { timestamp } from "../lib/instant.ts";
import { truncate } from "../lib/truncate.ts";
import type { NotCalled } from "../memory/memory.ts";

export type ConditionFinding = Pick<Condition, "type" | "status" | "reason" | "message">;

/** kstatus: abnormal conditions (Stalled, Reconciling) are present only while they are true. */
export function failing(
  type: "Ready" | "Active",
  abnormal: "Stalled" | "Reconciling",
  why: Pick<ConditionFinding, "reason" | "message">,
): ConditionFinding[] {
  return [
    { type, status: "False", ...why },
    { type: abnormal, status: "True", ...why },
  ];
}

/** Whether Cluster API calls does not depend on a valid spec. While it is not known, what is stored stays. */
export function calls(notCalled: NotCalled, stored: readonly Condition[] = []): ConditionFinding[] {
  if (notCalled === undefined) return [];
  if (notCalled === "Unknown") return stored.filter(({ type }) => type === CONDITION.NotCalled);
  return [{ type: CONDITION.NotCalled, status: "True", ...notCalled }];
}

/** The findings at `now` as conditions; each keeps the stored transition time until its status changes. */
export function withTransitions(
  found: readonly ConditionFinding[],
  stored: readonly Condition[] | undefined,
  generation: number,
  now: Date,
): Condition[] {
  return found.map(({ type, status, reason, message }) => {
    const old = stored?.find((condition) => condition.type === type);
    return {
      type,
      status,
      reason,
      message: truncate(printable(message), MAX_CONDITION_MESSAGE),
      observedGeneration: generation,
      lastTransitionTime: old?.status === status ? old.lastTransitionTime : timestamp(now),
    };
  });
}
