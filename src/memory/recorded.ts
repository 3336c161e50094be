import { entryOf } from "../lib/entry-of.ts";
import type { RecentResult } from "../api/hook-policy.ts";

/** The same result has the same key, no matter which replica reports it. */
export function resultKey({ clusterUID, hook, targetVersion: version, verdict, rule }: RecentResult): string {
  const by = verdict === "Refused" ? [rule] : [];
  return [clusterUID, hook, version, verdict, ...by].join(" ");
}

/** Any caller can invent Clusters. Beyond this bound a result may be recorded twice. */
const MAX_RESULTS = 10_000;
/** A user can name any version, so a Cluster with this many results gets no further ones of these. */
const MAX_WITH_ANY_VERSION = 32;
const OF_ANY_VERSION: ReadonlySet<RecentResult["verdict"]> = new Set(["Refused", "NotAsked"]);

export class RecordedResults {
  /** resultKeys, by the Cluster's uid. */
  readonly #byCluster = new Map<string, Set<string>>();
  #size = 0;

  keys(): string[] {
    return [...this.#byCluster.values()].flatMap((keys) => [...keys]);
  }

  /** Returns whether it is new. */
  add(result: RecentResult): boolean {
    const { clusterUID, verdict } = result;
    const key = resultKey(result);
    const known = this.#byCluster.get(clusterUID);
    if (known?.has(key) === true) return false;
    if (OF_ANY_VERSION.has(verdict) && known !== undefined && known.size >= MAX_WITH_ANY_VERSION)
      return false;
    if (this.#size >= MAX_RESULTS) this.#clear();
    entryOf(this.#byCluster, clusterUID, () => new Set()).add(key);
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
