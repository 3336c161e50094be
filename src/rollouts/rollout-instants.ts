/** Instants in the status of a rollout that a clock stored which was ahead. */

import type { HookRolloutStatus, RolloutClaim, RolloutStageStatus } from "../api/hook-policy.ts";
import { isAhead } from "../operations/timers.ts";
import { readTimestamp, timestamp } from "../policy/instant.ts";

/** They count from `now`: otherwise a slot, a soak or a failure lasts until then. */
export function withoutFuture<T extends HookRolloutStatus | undefined>(status: T, now: Date): T {
  if (status === undefined) return status;
  const { running, targets, failed } = status;
  const sane = (text: string): string => {
    const at = readTimestamp(text);
    return at !== undefined && isAhead(at, now) ? timestamp(now) : text;
  };
  const claim = ({ claimedAt, renewedAt, markedAt, ...rest }: RolloutClaim): RolloutClaim => ({
    ...rest,
    claimedAt: sane(claimedAt),
    renewedAt: sane(renewedAt),
    ...(markedAt !== undefined && { markedAt: sane(markedAt) }),
  });
  const stage = ({ soakingSince, ...rest }: RolloutStageStatus): RolloutStageStatus => ({
    ...rest,
    ...(soakingSince !== undefined && { soakingSince: sane(soakingSince) }),
  });
  return {
    ...status,
    ...(running && { running: running.map(claim) }),
    ...(targets && { targets: targets.map((each) => ({ ...each, stages: each.stages.map(stage) })) }),
    ...(failed && { failed: failed.map((each) => ({ ...each, time: sane(each.time) })) }),
  };
}
