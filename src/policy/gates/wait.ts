/** A gate that is met some time after all others of its rule. The rule keeps its timer, so no table lists this kind. */

import type { RuleSpec, WaitGateSpec } from "../../api/hook-policy.ts";
import { durationOrNever, parseDuration } from "../../lib/duration.ts";
import { after, timestamp } from "../../lib/instant.ts";
import type { GateTrace, Wait } from "../policy.ts";
import type { FieldError } from "../validation/schema.ts";

/** A deadline counts from the first block, and a wait begins then or later. */
export function lateWaits({ deadline, until = [] }: RuleSpec, path: string): FieldError[] {
  const limit = parseDuration(deadline?.after ?? "");
  if (deadline === undefined || limit === undefined) return [];
  const late = until.find(({ wait }) => (parseDuration(wait?.duration ?? "") ?? 0) >= limit);
  if (late?.wait === undefined) return [];
  const end = deadline.onExpiry === "Allow" ? "releases the operation" : "passes";
  const message = `the deadline ${end} before gate ${late.name} has waited ${late.wait.duration}, whatever happens: make it longer than the wait`;
  return [{ path: `${path}.deadline.after`, id: "deadline-before-wait", message }];
}

export function compileWait(name: string, { duration }: WaitGateSpec, said: string | undefined): Wait {
  return { name, duration, durationMs: durationOrNever(duration), ...(said !== undefined && { said }) };
}

/** `since`: when the others were met. Before that the wait is not met, whatever the gates say that are not evaluable. */
export function judgeWait(
  { name, said, duration, durationMs }: Wait,
  since: Date | undefined,
  now: Date,
): GateTrace {
  const own = { gate: name, ...(said !== undefined && { said }) };
  const wanted = `${duration} to pass once all other gates are met`;
  if (since === undefined)
    return { ...own, met: false, reason: "WaitNotStarted", wanted, observed: "they are not met" };
  const until = after(since, durationMs);
  if (now >= until)
    return { ...own, met: true, reason: "Holds", wanted, observed: `passed at ${timestamp(until)}` };
  return {
    ...own,
    met: false,
    reason: "WaitPending",
    wanted: `${duration} to pass (at ${timestamp(until)})`,
    observed: `running since ${timestamp(since)}`,
    changesAt: until,
  };
}
