/** Cluster API's part of every Cluster that waits: it asks, asks again as soon as the answer says, and begins after a go. */

import { setMaxListeners } from "node:events";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../../test/controlplane/client.ts";
import type { HookCaller } from "../calls/caller.ts";
import { RETRY_SECONDS, upgradeRequest } from "./fleet.ts";

/** A call that was answered with a go. */
export interface Go {
  readonly cluster: KubeObject;
  /** When the answer was there (performance.now()). */
  readonly at: number;
  /** How long the answer took. */
  readonly ms: number;
}

export interface CallersOptions {
  readonly caller: HookCaller;
  /** The Cluster begins. */
  readonly onGo: (go: Go) => void;
}

export class Callers {
  readonly #options: CallersOptions;
  readonly #stop = new AbortController();
  readonly #waiting = new Map<KubeObject, Promise<void>>();
  /** Milliseconds of each call that was held. */
  held: number[] = [];
  /** Calls without an answer in Cluster API's time: it asks again later. */
  unanswered = 0;

  /** Each Cluster asks first within one round, evenly. */
  constructor(clusters: readonly KubeObject[], options: CallersOptions) {
    this.#options = options;
    setMaxListeners(clusters.length, this.#stop.signal);
    for (const [index, cluster] of clusters.entries())
      this.#waiting.set(cluster, this.#wait(cluster, (index / clusters.length) * RETRY_SECONDS));
  }

  /** Those that still wait. */
  async stop(): Promise<KubeObject[]> {
    this.#stop.abort();
    await Promise.all(this.#waiting.values());
    return [...this.#waiting.keys()];
  }

  async #wait(cluster: KubeObject, firstSeconds: number): Promise<void> {
    const { signal } = this.#stop;
    for (let seconds = firstSeconds; ;) {
      await sleep(seconds * 1000, undefined, { signal }).catch(() => undefined);
      if (signal.aborted) return;
      seconds = await this.#ask(cluster);
      if (seconds === 0) break;
    }
    this.#waiting.delete(cluster);
  }

  /** When to ask again, in seconds; 0: never. */
  async #ask(cluster: KubeObject): Promise<number> {
    const { caller, onGo } = this.#options;
    const answer = await caller.call("BeforeClusterUpgrade", upgradeRequest(cluster)).catch(() => undefined);
    if (answer === undefined) {
      this.unanswered += 1;
      return RETRY_SECONDS;
    }
    const { retryAfterSeconds, ms } = answer;
    if (retryAfterSeconds > 0) this.held.push(ms);
    else onGo({ cluster, at: performance.now(), ms });
    return retryAfterSeconds;
  }
}
