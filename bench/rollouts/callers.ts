/** Cluster API's part of every Cluster that waits: it asks, asks again as soon as the answer says, and begins after a go. */

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
  readonly #waiting = new Map<KubeObject, Promise<void>>();
  #stopped = false;
  /** Milliseconds of each call that was held. */
  held: number[] = [];
  /** Calls without an answer in Cluster API's time: it asks again later. */
  unanswered = 0;

  /** Each Cluster asks first within one round, evenly. */
  constructor(clusters: readonly KubeObject[], options: CallersOptions) {
    this.#options = options;
    for (const [index, cluster] of clusters.entries())
      this.#waiting.set(cluster, this.#wait(cluster, (index / clusters.length) * RETRY_SECONDS));
  }

  /** Those that still wait; it takes as long as they wait until they ask again. */
  async stop(): Promise<KubeObject[]> {
    this.#stopped = true;
    await Promise.all(this.#waiting.values());
    return [...this.#waiting.keys()];
  }

  async #wait(cluster: KubeObject, firstSeconds: number): Promise<void> {
    for (let seconds = firstSeconds; ;) {
      await sleep(seconds * 1000);
      if (this.#stopped) return;
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
