import { setImmediate as nextTurn } from "node:timers/promises";
import { Slice } from "../turns/slice.ts";
import type { KubeClient, WatchOptions } from "./kube-client.ts";
import { childOf } from "../lib/signals.ts";
import { KubeError } from "./kube-error.ts";
import { type Resource, resourceName } from "./resource.ts";
import type { InformerTuning } from "./recovery.ts";
import type { WatchEvent } from "./watch-stream.ts";

export interface WatchSession extends WatchOptions, Pick<InformerTuning, "idleTimeoutMs"> {
  readonly resource: Resource;
  readonly onOpen: () => void;
  /** An error that it throws ends the watch and is rethrown. */
  readonly onEvent: (event: WatchEvent) => void;
}

/**
 * Follows one watch from its request to its end. Returns when the server ends it; throws a KubeError when it breaks or
 * stalls.
 */
export async function followWatch(client: Pick<KubeClient, "watch">, session: WatchSession): Promise<void> {
  const { resource, idleTimeoutMs, onEvent } = session;
  const life = childOf(session.signal);
  const message = `watch ${resourceName(resource)}: stalled: silent for ${idleTimeoutMs / 1000} s`;
  const stalled = new KubeError(message, { code: 0, reason: "Stalled" });
  let idle: NodeJS.Timeout | undefined;
  let isStalled = false;
  try {
    const events = await client.watch(resource, { ...session, signal: life.controller.signal });
    session.onOpen();
    idle = setTimeout(() => {
      isStalled = true;
      life.controller.abort();
    }, idleTimeoutMs);
    // Yields, because events that have already arrived are delivered without a pause, and a tenant can cause thousands.
    const slice = new Slice();
    for await (const event of events) {
      idle.refresh();
      slice.begin();
      onEvent(event);
      if (slice.isOver()) await nextTurn();
    }
  } catch (error) {
    throw isStalled ? stalled : error;
  } finally {
    clearTimeout(idle);
    life.release();
  }
}
