/** When the status of a rollout changes by time alone. */

import type { HookRolloutStatus } from "../api/hook-policy.ts";
import { after, readTimestamp } from "../policy/instant.ts";
import type { CompiledRollout } from "./rollout.ts";

/** Milliseconds from `now` until the next deadline of a slot passes, or the next soak is over; `Infinity`: none. */
export function untilDue(
  { progressDeadlineMs, stages }: CompiledRollout,
  { running = [], targets = [] }: HookRolloutStatus = {},
  now: Date,
): number {
  const deadlines = running.map(({ claimedAt }) => dueAt(claimedAt, progressDeadlineMs));
  const soaks = targets
    .flatMap((target) => target.stages.filter(({ passed }) => !passed))
    .map(({ name, soakingSince }) =>
      dueAt(soakingSince, stages.find((stage) => stage.name === name)?.minSuccessTimeMs ?? Infinity),
    );
  const due = [...deadlines, ...soaks].map((at) => at - now.getTime()).filter((ms) => ms > 0);
  return Math.min(...due);
}

function dueAt(since: string | undefined, ms: number): number {
  const began = readTimestamp(since);
  return began === undefined || ms === Infinity ? Infinity : after(began, ms).getTime();
}
