import type { RecentResult } from "../api/hookpolicy.ts";

/** Whoever reports an operation's result, it is the same one. */
export function resultKey({ clusterUID, hook, targetVersion: version, verdict }: RecentResult): string {
  return [clusterUID, hook, version, verdict].join(" ");
}

/** Anyone who reaches the port can invent Clusters. Beyond it a result may be recorded twice. */
const MAX_RESULTS = 10_000;

/** Results that were recorded already: an operation that is asked for again is no new one. */
export class RecordedResults {
  /** resultKeys, by the Cluster's uid. */
  readonly #byCluster = new Map<string, Set<string>>();
  #size = 0;

  keys(): string[] {
    return [...this.#byCluster.values()].flatMap((keys) => [...keys]);
  }

  /** Whether it is new. */
  add(result: RecentResult): boolean {
    const { clusterUID } = result;
    const key = resultKey(result);
    if (this.#byCluster.get(clusterUID)?.has(key) === true) return false;
    if (this.#size >= MAX_RESULTS) this.#clear();
    const keys = this.#byCluster.get(clusterUID) ?? new Set();
    this.#byCluster.set(clusterUID, keys.add(key));
    this.#size += 1;
    return true;
  }

  /** The Cluster is gone. */
  forget(clusterUID: string): void {
    this.#size -= this.#byCluster.get(clusterUID)?.size ?? 0;
    this.#byCluster.delete(clusterUID);
  }

  #clear(): void {
    this.#byCluster.clear();
    this.#size = 0;
  }
}
