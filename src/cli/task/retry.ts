/** Asks the operator for another attempt of a HookTask. */

import type { HookTaskStatus } from "../../api/hook-policy.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { HOOK_TASKS } from "../../kube/resources.ts";
import { timestamp } from "../../policy/instant.ts";
import { fieldsOf } from "../../lib/fields.ts";
import { RETRY_ANNOTATION } from "../../tasks/next-step.ts";
import { followUntil } from "../fleet/follow.ts";
import type { Phase, ReadTask } from "./tasks.ts";

/** Why there is nothing to try again; `undefined`: there is. */
export function noRetry({ phase, isOver, isAltered }: ReadTask): string | undefined {
  if (isOver) return "belongs to an operation that is over: it counts no more";
  if (isAltered) return "was changed: delete it, and its task begins again";
  return WHY[phase];
}

const WHY: Readonly<Partial<Record<Phase, string>>> = {
  Pending: "has not begun yet",
  Running: "still runs: a retry follows a failure",
  Succeeded: "has succeeded",
  Cancelled: "was cancelled, because it was no longer wanted",
};

/** Returns whether the operator has acted upon it in time. */
export async function askForRetry(
  client: KubeClient,
  { key, object }: ReadTask,
  timeoutMs: number,
): Promise<boolean> {
  // New for each request; the operator writes the one that it acted upon into the status.
  const value = timestamp(client.serverClock.serverTime());
  await client.mergePatch(HOOK_TASKS, key, {
    metadata: { uid: object.metadata.uid, annotations: { [RETRY_ANNOTATION]: value } },
  });
  const isTaken = (found: KubeObject | undefined): boolean =>
    fieldsOf(found?.status)["retriedFor" satisfies keyof HookTaskStatus] === value;
  // The right to patch does not imply list and watch, so a failed read is not an error.
  return await followUntil(client, { resource: HOOK_TASKS, ...key }, isTaken, {
    timeoutMs,
    onLost: () => undefined,
  }).catch(() => false);
}
