/** Follows the objects of a kind for a command that watches. */

import type { KubeClient, Scope } from "../../kube/kube-client.ts";
import { MAX_TIMER_MS, pause } from "../../lib/signals.ts";
import { fromTransport, isForbidden } from "../../kube/kube-error.ts";
import { namespacedName } from "../../lib/keys.ts";
import { type KubeObject, type Resource, resourceName } from "../../kube/resource.ts";
import { DEFAULT_TUNING } from "../../kube/recovery.ts";
import { followWatch } from "../../kube/watch-session.ts";

type Client = Pick<KubeClient, "list" | "watch">;
type FollowedKind = Scope & { readonly resource: Resource };

export interface Follower {
  /** Called with all objects of the scope: at first, and after every change. */
  readonly onObjects: (objects: readonly KubeObject[]) => void;
  /** Called when even a list fails, which is then retried. A watch that breaks is not reported. */
  readonly onLost: (message: string) => void;
}

const RETRY_MS = 1_000;

/**
 * Runs until `signal` fires. Rejects with a KubeError if nothing has been read yet, or if reading is forbidden; any
 * later failure is retried.
 */
export async function follow(
  client: Client,
  { resource, ...scope }: FollowedKind,
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
      for (const item of items) objects.set(namespacedName(item.metadata), item);
      onObjects([...objects.values()]);
      await followWatch(client, {
        ...scope,
        resource,
        resourceVersion,
        timeoutSeconds: DEFAULT_TUNING.watchTimeoutSeconds[0],
        metadataOnly: false,
        idleTimeoutMs: DEFAULT_TUNING.idleTimeoutMs,
        signal,
        onOpen: () => undefined,
        onEvent: (event) => {
          if (event.type === "ERROR") throw event.error;
          if (event.type === "BOOKMARK") return;
          const key = namespacedName(event.object.metadata);
          if (event.type === "DELETED") objects.delete(key);
          else objects.set(key, event.object);
          onObjects([...objects.values()]);
        },
      });
    } catch (error) {
      if (signal.aborted) return;
      const failure = fromTransport(`watch ${resourceName(resource)}`, error);
      if (!listed || isForbidden(failure)) throw failure;
      if (!watching) onLost(failure.message);
    }
    // Also after a watch that has ended regularly: a server may end each at once.
    await pause(RETRY_MS, signal);
  }
}

/** Follows one object until `isMet` holds, which gets `undefined` if the object does not exist; false: not in time. */
export async function followUntil(
  client: Client,
  scope: FollowedKind & { readonly name: string },
  isMet: (object: KubeObject | undefined) => boolean,
  { timeoutMs, onLost }: Pick<Follower, "onLost"> & { readonly timeoutMs: number },
): Promise<boolean> {
  const stop = new AbortController();
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(Math.min(timeoutMs, MAX_TIMER_MS))]);
  let met = false;
  const onObjects = ([object]: readonly KubeObject[]): void => {
    met ||= isMet(object);
    if (met) stop.abort();
  };
  await follow(client, scope, { onObjects, onLost }, signal);
  return met;
}

/** The operator looks at once at what a user has written. */
const ANSWER_MS = 15_000;

/** Whether the operator answers what was just written. The right to write does not imply list and watch: then it is not seen. */
export async function followAnswer(
  client: Client,
  scope: FollowedKind & { readonly name: string },
  isAnswered: (object: KubeObject | undefined) => boolean,
): Promise<boolean> {
  const limits = { timeoutMs: ANSWER_MS, onLost: () => undefined };
  return await followUntil(client, scope, isAnswered, limits).catch(() => false);
}
