/** Cluster API's part of every Cluster that waits: it asks, asks again as soon as the answer says, and begins after a go. */

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
  readonly clusters: readonly KubeObject[];
  /** The Cluster begins. */
  readonly onGo: (go: Go) => void;
}

export class Callers {
  readonly #options: CallersOptions;
  readonly #pending = new Set<Promise<void>>();
  readonly #timers = new Map<KubeObject, NodeJS.Timeout>();
  #stopped = false;
  /** Milliseconds of each call that was held. */
  held: number[] = [];
  /** Calls without an answer in Cluster API's time: it asks again later. */
  unanswered = 0;

  constructor(options: CallersOptions) {
    this.#options = options;
  }

  /** Evenly over the first round. */
  start(): void {
    const { clusters } = this.#options;
    for (const [index, cluster] of clusters.entries())
      this.#askIn(cluster, (index / clusters.length) * RETRY_SECONDS * 1000);
  }

  /** Those that still wait. */
  async stop(): Promise<KubeObject[]> {
    this.#stopped = true;
    await Promise.all(this.#pending);
    const waiting = [...this.#timers.keys()];
    for (const timer of this.#timers.values()) clearTimeout(timer);
    return waiting;
  }

  #askIn(cluster: KubeObject, ms: number): void {
    const ask = (): void => {
      if (this.#stopped) return;
      const call = this.#ask(cluster).finally(() => this.#pending.delete(call));
      this.#pending.add(call);
    };
    this.#timers.set(cluster, setTimeout(ask, ms));
  }

  async #ask(cluster: KubeObject): Promise<void> {
    const { caller, onGo } = this.#options;
    const answer = await caller.call("BeforeClusterUpgrade", upgradeRequest(cluster)).catch(() => undefined);
    if (answer === undefined) {
      this.unanswered += 1;
      this.#askIn(cluster, RETRY_SECONDS * 1000);
      return;
    }
    const { retryAfterSeconds, ms } = answer;
    if (retryAfterSeconds > 0) {
      this.held.push(ms);
      this.#askIn(cluster, retryAfterSeconds * 1000);
      return;
    }
    this.#timers.delete(cluster);
    onGo({ cluster, at: performance.now(), ms });
  }
}
