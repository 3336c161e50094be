/** The objects of a kind, and every change of them, for a command that somebody watches. */

import type { KubeClient, Scope } from "../../kube/kubeclient.ts";
import { pause } from "../../kube/deadline.ts";
import { fromTransport, isForbidden, type KubeError } from "../../kube/kubeerror.ts";
import { keyOf, type KubeObject, type Resource, resourceName } from "../../kube/resource.ts";
import { DEFAULT_TUNING } from "../../kube/tuning.ts";
import { followWatch } from "../../kube/watchsession.ts";

export interface Follower {
  /** All objects of the scope: as they are at first, and after every change. */
  readonly onObjects: (objects: readonly KubeObject[]) => void;
  /** Not even a list can be had; it is tried again. A watch that breaks is no news. */
  readonly onLost: (error: KubeError) => void;
}

const RETRY_MS = 1_000;
const WATCH_SECONDS = 300;

/**
 * Until `signal` fires. Rejects with a KubeError where nothing has been read yet, and where reading is forbidden;
 * whatever else fails later is tried again.
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
