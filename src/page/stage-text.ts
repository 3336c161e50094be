/** Words for the state of a stage, for every command and the page. */

import {
  MAX_AWAITED,
  type HookRolloutSpec,
  type RolloutAwaited,
  type RolloutStageStatus,
} from "../api/hook-policy.ts";
import { namespacedName } from "../lib/keys.ts";
import { parseDuration } from "../lib/duration.ts";
import { after, readTimestamp, timestamp } from "../lib/instant.ts";

/** `stages`: of one target, as the status has them, which may be older than the `specs`. */
export function stageState(
  stages: readonly RolloutStageStatus[],
  index: number,
  specs: HookRolloutSpec["stages"] = [],
): string {
  const [stage, before] = [stages[index], stages[index - 1]];
  if (stage === undefined) return "";
  if (stage.passed) return "passed";
  const soaking = readTimestamp(stage.closed === true ? undefined : stage.soakingSince);
  const isIdle = stage.members > 0 && soaking === undefined && !stages.some(isUnderWay);
  if (isIdle) return "no Cluster asks for it";
  if (before !== undefined && !before.passed) return `waits for ${before.name}`;
  if (soaking !== undefined)
    return soakText(
      soaking,
      specs.find(({ name }) => name === stage.name),
    );
  if (stage.members === 0) return "has no Clusters";
  return openText(stage);
}

function openText({ closed }: RolloutStageStatus): string {
  return closed === true ? "closed again" : "open";
}

function soakText(since: Date, { minSuccessTime: soak = "0s" }: { minSuccessTime?: string } = {}): string {
  return `soaks for ${soak}, until ${timestamp(after(since, parseDuration(soak) ?? 0))}`;
}

/** Another version may have come since, and left the row of this one. */
function isUnderWay({ waiting, running, failed }: RolloutStageStatus): boolean {
  return waiting + running + failed > 0;
}

const WHY: Readonly<Record<string, string>> = {
  Failed: "failed",
  Unhealthy: "unhealthy",
  WorkersPinned: "workers are pinned to an older version",
  NotCalled: "no call about it has reached the operator",
  NotAsked: "not asked for this version",
};

/** "team-a/c1 (not asked for this version)" */
function awaitedText({ namespace, name, reason, message }: RolloutAwaited): string {
  return `${namespacedName({ namespace, name })} (${message ?? WHY[reason] ?? reason})`;
}

/** "canary waits for team-a/c1 (failed), team-a/c2 (unhealthy)"; `undefined`: waiting alone brings it there. */
export function waitsForText({
  name,
  waitsFor = [],
}: Pick<RolloutStageStatus, "name" | "waitsFor">): string | undefined {
  if (waitsFor.length === 0) return undefined;
  const more = waitsFor.length >= MAX_AWAITED ? ", and perhaps more" : "";
  return `${name} waits for ${waitsFor.map(awaitedText).join(", ")}${more}`;
}
