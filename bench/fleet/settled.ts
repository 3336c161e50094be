/** Waits until nothing is left to do, so that the next measurement is not about what went before. */

import { setTimeout as sleep } from "node:timers/promises";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import type { Operator } from "../../test/controlplane/operator.ts";
import { policyIsReady } from "../../test/controlplane/policies.ts";

/** Resolves once every policy is in force and the operator has nothing left to write. */
export async function settled(cp: ControlPlane, operator: Operator): Promise<void> {
  for (const kind of ["HookPolicy", "ClusterHookPolicy"]) {
    const policies = await cp.list({ apiVersion: "hookpolicy.dev/v1alpha1", kind });
    for (const policy of policies) await policyIsReady(cp, policy);
  }
  await rests(cp, async () => {
    const writes = await operator.metric("hookpolicy_status_writes_total");
    return (await operator.metric("hookpolicy_workqueue_depth")) === 0 && writes;
  });
}

/** Resolves once `read` gives the same twice in a row; false means "not yet". */
export async function rests(
  cp: ControlPlane,
  read: () => Promise<string | number | false>,
  { everyMs = 2000, timeoutMs = 180_000 } = {},
): Promise<void> {
  let before: string | number | false = false;
  const isAtRest = async (): Promise<boolean> => {
    await sleep(everyMs);
    const [earlier, now] = [before, await read()];
    before = now;
    return now !== false && now === earlier;
  };
  await cp.waitFor("the operator to come to rest", isAtRest, timeoutMs);
}
