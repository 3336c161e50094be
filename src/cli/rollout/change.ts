/** Pauses and resumes rollouts. */

import { conditionOf } from "../../api/meta.ts";
import { isDeepStrictEqual } from "node:util";
import { CONDITION, type HookRollout } from "../../api/hook-policy.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { isConflict } from "../../kube/kube-error.ts";
import { ROLLOUTS } from "../../kube/resources.ts";
import { readTimestamp, timestamp } from "../../lib/instant.ts";
import { despite } from "../../lib/thrown.ts";
import { CommandError, FAILED } from "../command.ts";
import { PAUSE_REASON, viewRollout } from "../fleet/kinds.ts";

export function isHalted(rollout: HookRollout): boolean {
  return conditionOf(rollout, CONDITION.Halted)?.status === "True";
}

/** One line for each change that resuming would cause; none: no change. */
export function resumption(rollout: HookRollout): string[] {
  const { name } = rollout.metadata;
  return [
    rollout.spec.paused === true && `HookRollout ${name} would no longer be paused`,
    isHalted(rollout) &&
      "These failures would no longer halt it; those Clusters would no longer count for their stages",
  ].filter((line) => line !== false);
}

export function effectOfPause({ spec }: HookRollout): string {
  if (spec.mode === "Audit") return "in mode Audit it holds nothing all the same";
  return "no further Cluster begins, and those that run proceed";
}

/** Checks no resourceVersion: the operator writes the status often while Clusters are in operation. */
export async function pauseRollout(client: KubeClient, rollout: HookRollout, reason: string): Promise<void> {
  const { uid } = rollout.metadata;
  const metadata = { uid, annotations: { [PAUSE_REASON]: reason } };
  await write(client, rollout, { metadata, spec: { paused: true } });
}

/** Ignores no failure that came after `shown`, which is what the user has seen, whatever the clocks say. */
export async function resumeRollout(client: KubeClient, shown: HookRollout): Promise<void> {
  const annotations = { [PAUSE_REASON]: null };
  if (!isHalted(shown)) {
    const { uid } = shown.metadata;
    return await write(client, shown, { metadata: { uid, annotations }, spec: { paused: false } });
  }
  const times = (shown.status?.failed ?? []).flatMap(({ time }) => readTimestamp(time)?.getTime() ?? []);
  // By the operator's clock, as the times of later failures are.
  const until = new Date(Math.max(...times) + 1000);
  const ignored = times.length > 0 && { ignoreFailuresBefore: timestamp(until) };
  let rollout = shown;
  await despite(
    (error) => error instanceof CommandError,
    async () => {
      const { uid, resourceVersion } = rollout.metadata;
      const metadata = { uid, resourceVersion, annotations };
      await write(client, shown, { metadata, spec: { paused: false, ...ignored } });
    },
    async (error) => {
      rollout = viewRollout({ ...(await client.get(ROLLOUTS, { name: shown.metadata.name })) });
      if (!sameFailures(rollout, shown)) throw error;
    },
  );
}

function sameFailures(a: HookRollout, b: HookRollout): boolean {
  return (
    a.metadata.uid === b.metadata.uid &&
    a.metadata.generation === b.metadata.generation &&
    isDeepStrictEqual(a.status?.failed, b.status?.failed)
  );
}

/** The metadata of the patch contains the uid, and the resourceVersion if no other write may come before this one. */
async function write(
  client: KubeClient,
  { metadata: { name } }: HookRollout,
  patch: Record<"metadata" | "spec", object>,
): Promise<void> {
  try {
    await client.mergePatch(ROLLOUTS, { name }, patch);
  } catch (error) {
    if (!isConflict(error)) throw error;
    throw new CommandError(
      FAILED,
      `HookRollout ${name} has changed meanwhile, and nothing was written: look at it again`,
    );
  }
}
