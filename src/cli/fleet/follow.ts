/** Follows the objects of a kind for a command that watches. */

import type { KubeClient, Scope } from "../../kube/kubeclient.ts";
import { pause } from "../../kube/deadline.ts";
import { fromTransport, isForbidden, type KubeError } from "../../kube/kubeerror.ts";
import { keyOf, type KubeObject, type Resource, resourceName } from "../../kube/resource.ts";
import { DEFAULT_TUNING } from "../../kube/tuning.ts";
import { followWatch } from "../../kube/watchsession.ts";

export interface Follower {
  /** Called with all objects of the scope: at first, and after every change. */
  readonly onObjects: (objects: readonly KubeObject[]) => void;
  /** Called when even a list fails, which is then retried. A watch that breaks is not reported. */
  readonly onLost: (error: KubeError) => void;
}

const RETRY_MS = 1_000;
const WATCH_SECONDS = 300;

/**
 * Runs until `signal` fires. Rejects with a KubeError if nothing has been read yet, or if reading is forbidden; any
 * later failure is retried.
 */
export async function follow(
  client: Pick<KubeClient, "list" | "watch">,
  { resource, ...scope }: Scope & { readonly resource: Resource },
  { onObjects, onLost }: Follower,
  signal: AbortSignal,
): Promise<void> {
  const objects = new Map<string, KubeObject>();
  for (let listed = false; !signal.aborted;) {
    let watching = false;
    try {
      const { items, resourceVersion } = await client.list(resource, { ...scope, signal });
      listed = true;
      watching = true;
      objects.clear();
      for (const item of items) objects.set(keyOf(item.metadata), item);
      onObjects([...objects.values()]);
      await followWatch(client, {
        ...scope,
        resource,
        resourceVersion,
        timeoutSeconds: WATCH_SECONDS,
        metadataOnly: false,
        idleTimeoutMs: DEFAULT_TUNING.idleTimeoutMs,
        sliceMs: DEFAULT_TUNING.sliceMs,
        signal,
        onOpen: () => undefined,
        onEvent: (event) => {
          if (event.type === "ERROR") throw event.error;
          if (event.type === "BOOKMARK") return;
          const key = keyOf(event.object.metadata);
          if (event.type === "DELETED") objects.delete(key);
          else objects.set(key, event.object);
          onObjects([...objects.values()]);
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      const failure = fromTransport(`watch ${resourceName(resource)}`, error);
      if (!listed || isForbidden(failure)) throw failure;
      if (!watching) onLost(failure);
      await pause(RETRY_MS, signal);
    }
  }
}
