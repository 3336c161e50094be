/** Pauses and resumes rollouts. */

import { CONDITION, type HookRollout } from "../../api/hookpolicy.ts";
import type { KubeClient } from "../../kube/kubeclient.ts";
import { isConflict } from "../../kube/kubeerror.ts";
import { ROLLOUTS } from "../../kube/resources.ts";
import { CommandError, FAILED } from "../command.ts";
import { PAUSE_REASON } from "../fleet/pausereason.ts";

export function isHalted({ status }: HookRollout): boolean {
  return (
    status?.conditions?.some(({ type, status: is }) => type === CONDITION.Halted && is === "True") === true
  );
}

/** One line for each change that resuming causes; none: no change. */
export function resumption(rollout: HookRollout): string[] {
  const { name } = rollout.metadata;
  return [
    ...(rollout.spec.paused === true ? [`HookRollout ${name} is no longer paused`] : []),
    ...(isHalted(rollout)
      ? ["Failures until now no longer halt it; those Clusters no longer count for their stages"]
      : []),
  ];
}

export async function pauseRollout(client: KubeClient, rollout: HookRollout, reason: string): Promise<void> {
  await write(client, rollout, {
    metadata: { annotations: { [PAUSE_REASON]: reason } },
    spec: { paused: true },
  });
}

/** `now`: the API server's time, which failures are compared with. */
export async function resumeRollout(client: KubeClient, rollout: HookRollout, now: Date): Promise<void> {
  await write(client, rollout, {
    metadata: { annotations: { [PAUSE_REASON]: null } },
    spec: {
      paused: false,
      ...(isHalted(rollout) && {
        ignoreFailuresBefore: new Date(Math.ceil(now.getTime() / 1000 + 1) * 1000)
          .toISOString()
          .replace(".000Z", "Z"),
      }),
    },
  });
}

interface Patch {
  readonly metadata: object;
  readonly spec: object;
}

async function write(client: KubeClient, { metadata }: HookRollout, patch: Patch): Promise<void> {
  const { name, resourceVersion } = metadata;
  try {
    await client.mergePatch(
      ROLLOUTS,
      { name },
      { ...patch, metadata: { ...patch.metadata, resourceVersion } },
    );
  } catch (error) {
    if (!isConflict(error)) throw error;
    throw new CommandError(
      FAILED,
      `HookRollout ${name} has changed meanwhile, and nothing was written: look at it again`,
    );
  }
}
