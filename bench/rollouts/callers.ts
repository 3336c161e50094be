/** Cluster API's part for each Cluster that waits: it calls again when the answer says so, and begins after a release. */

import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../../test/controlplane/client.ts";
import { callHook, type HookServer } from "../calls/caller.ts";
import { PERIOD_SECONDS } from "../calls/generator.ts";
import { upgradeRequest } from "./fleet.ts";

/** A call that was answered with a release. */
export interface Go {
  readonly cluster: KubeObject;
  /** performance.now() of the answer. */
  readonly at: number;
  /** Duration of the call. */
  readonly ms: number;
}

export class Callers {
  readonly #server: HookServer;
  readonly #onGo: (go: Go) => void;
  readonly #waiting = new Map<KubeObject, Promise<void>>();
  #stopped = false;
  /** Milliseconds of each call that was held. */
  held: number[] = [];
  /** Calls without an answer in Cluster API's time, which are made again later. */
  unanswered = 0;

  /** The first calls are spread over one period. */
  constructor(clusters: readonly KubeObject[], server: HookServer, onGo: (go: Go) => void) {
    this.#server = server;
    this.#onGo = onGo;
    for (const [index, cluster] of clusters.entries())
      this.#waiting.set(cluster, this.#wait(cluster, (index / clusters.length) * PERIOD_SECONDS));
  }

  /** Returns the Clusters that still wait, once the time until their next calls has passed. */
  async stop(): Promise<KubeObject[]> {
    this.#stopped = true;
    await Promise.all(this.#waiting.values());
    return [...this.#waiting.keys()];
  }

  async #wait(cluster: KubeObject, firstSeconds: number): Promise<void> {
    for (let seconds = firstSeconds; ;) {
      await sleep(seconds * 1000);
      if (this.#stopped) return;
      seconds = await this.#call(cluster);
      if (seconds === 0) break;
    }
    this.#waiting.delete(cluster);
  }

  /** Returns the seconds until the next call; 0: there is none. */
  async #call(cluster: KubeObject): Promise<number> {
    const call = { ...this.#server, body: upgradeRequest(cluster) };
    const answer = await callHook("BeforeClusterUpgrade", call).catch(() => undefined);
    if (answer === undefined) {
      this.unanswered += 1;
      return PERIOD_SECONDS;
    }
    const { retryAfterSeconds, ms } = answer;
    if (retryAfterSeconds > 0) this.held.push(ms);
    else this.#onGo({ cluster, at: performance.now(), ms });
    return retryAfterSeconds;
  }
}
