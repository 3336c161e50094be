/** Creates a HookOverride, and waits for the operator to confirm it. */

import { CONDITION, type HookOverride } from "../../api/hookpolicy.ts";
import type { Condition } from "../../api/meta.ts";
import type { KubeClient } from "../../kube/kubeclient.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { viewOverride } from "../../controller/storedviews.ts";
import { OVERRIDES } from "../../kube/resources.ts";
import { follow } from "../fleet/follow.ts";

/** The operator's conditions; undefined: none in time. */
export async function createOverride(
  client: KubeClient,
  override: Pick<HookOverride, "apiVersion" | "kind" | "spec"> & {
    readonly metadata: { readonly name: string };
  },
  timeoutMs: number,
): Promise<Condition | undefined> {
  await client.create(OVERRIDES, override);
  const stop = new AbortController();
  const timer = setTimeout(() => stop.abort(), timeoutMs);
  let active: Condition | undefined;
  const onObjects = ([object]: readonly KubeObject[]): void => {
    const { status } = object === undefined ? {} : viewOverride(object);
    active = status?.conditions?.find(({ type }) => type === CONDITION.Active);
    if (active !== undefined) stop.abort();
  };
  const scope = { resource: OVERRIDES, name: override.metadata.name };
  try {
    await follow(client, scope, { onObjects, onLost: () => undefined }, stop.signal);
  } catch {
    // The right to create does not imply list and watch, so a failed read is not an error.
  } finally {
    clearTimeout(timer);
  }
  return active;
}
