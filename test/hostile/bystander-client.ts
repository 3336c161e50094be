/** The well-behaved client, in a process of its own: the attacker's work must not count as waiting. */

import { Agent } from "node:https";
import { setTimeout as sleep } from "node:timers/promises";
import { CONCURRENCY, IDLE_MS, post } from "../controlplane/post.ts";
import type { Calls, Errand } from "./bystander.ts";

const { port, ca, path, body, expected, perSecond }: Errand = JSON.parse(process.argv[2] ?? "");
/** Beyond Cluster API's 10 s: how long it took is told, too. */
const TIMEOUT_MS = 30_000;

const kept = new Agent({ ca, servername: "localhost", keepAlive: true, timeout: IDLE_MS });
/** A connection for each call, as Cluster API up to 1.11. */
const fresh = new Agent({ ca, servername: "localhost", keepAlive: false, maxCachedSessions: 0 });
const KINDS = ["kept", "fresh"] as const;
type Kind = (typeof KINDS)[number];
const AGENTS: Readonly<Record<Kind, Agent>> = { kept, fresh };

/** The calls between two reports. Each is due at its time, whatever became of those before it. */
class Period {
  readonly #times: Record<Kind, number[]> = { kept: [], fresh: [] };
  readonly #failures: string[] = [];
  readonly #begun = performance.now();
  readonly #issued: Promise<{ count: number; stopped: number }>;
  #ended = Infinity;

  constructor() {
    this.#issued = this.#issue();
  }

  /** Calls under way count with the time that they take, and those that still wait for a slot with what they have waited. */
  async end(): Promise<Calls> {
    this.#ended = performance.now();
    const { count: issued, stopped } = await this.#issued;
    for (let count = issued; this.#due(count) < this.#ended; count += 1)
      this.#times[kindOf(count)].push(stopped - this.#due(count));
    return { ...this.#times, failures: this.#failures };
  }

  /** How many were issued: at least one of each kind, however short the period is. */
  async #issue(): Promise<{ count: number; stopped: number }> {
    const underWay = new Set<Promise<void>>();
    let count = 0;
    for (; ; count += 1) {
      await sleep(Math.max(0, this.#due(count) - performance.now()));
      while (underWay.size >= CONCURRENCY) await Promise.race(underWay);
      if (performance.now() >= this.#ended && count >= KINDS.length) break;
      const call = this.#call(count);
      underWay.add(call);
      void call.then(() => underWay.delete(call));
    }
    const stopped = performance.now();
    await Promise.all(underWay);
    return { count, stopped };
  }

  async #call(count: number): Promise<void> {
    const [due, kind] = [this.#due(count), kindOf(count)];
    const told = (what: string): void => {
      const ms = Math.round(performance.now() - due);
      this.#failures.push(`${what} after ${ms} ms on a ${kind} connection`);
    };
    try {
      const { text: said } = await post({ port, path, body, agent: AGENTS[kind], timeoutMs: TIMEOUT_MS });
      this.#times[kind].push(performance.now() - due);
      if (said !== expected) told(said.slice(0, 200));
    } catch (error) {
      told(String(error));
    }
  }

  #due(count: number): number {
    return this.#begun + ((count + 1) * 1000) / perSecond;
  }
}

function kindOf(count: number): Kind {
  return count % 2 === 0 ? "kept" : "fresh";
}

let period = new Period();
async function report(): Promise<void> {
  const calls = await period.end();
  period = new Period();
  process.send?.(calls);
}
process.on("message", () => void report());
process.on("disconnect", () => process.exit());
