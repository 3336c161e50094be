/** Creates a HookOverride, and waits for the operator to confirm it. */

import { CONDITION } from "../../api/hookpolicy.ts";
import type { Condition } from "../../api/meta.ts";
import type { KubeClient } from "../../kube/kubeclient.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { viewOverride } from "../../controller/storedviews.ts";
import { OVERRIDES } from "../../kube/resources.ts";
import { followUntil } from "../fleet/follow.ts";
import type { NewOverride } from "./newoverride.ts";

/** The operator's condition Active; `undefined`: none in time. */
export async function createOverride(
  client: KubeClient,
  override: NewOverride,
  timeoutMs: number,
): Promise<Condition | undefined> {
  await client.create(OVERRIDES, override);
  let active: Condition | undefined;
  const scope = { resource: OVERRIDES, name: override.metadata.name };
  const isAnswered = (object: KubeObject | undefined): boolean => {
    active = object && viewOverride(object).status?.conditions?.find(({ type }) => type === CONDITION.Active);
    return active !== undefined;
  };
  // The right to create does not imply list and watch, so a failed read is not an error.
  await followUntil(client, scope, isAnswered, { timeoutMs, onLost: () => undefined }).catch(() => undefined);
  return active;
}
