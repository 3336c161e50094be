import type { HookName } from "../api/runtimehooks.ts";

/** Any client that reaches the port can invent Clusters. */
const MAX_ANSWERS = 20_000;

/** The last recorded answer about each Cluster and hook. */
export class LastAnswers<T> {
  /** By uid. The first entry is evicted first: it has not changed for the longest time. */
  readonly #byCluster = new Map<string, Map<HookName, T>>();
  #size = 0;

  get(clusterUID: string, hook: HookName): T | undefined {
    return this.#byCluster.get(clusterUID)?.get(hook);
  }

  set(clusterUID: string, hook: HookName, answer: T): void {
    const answers = new Map(this.forget(clusterUID)).set(hook, answer);
    this.#byCluster.set(clusterUID, answers);
    this.#size += answers.size;
    const oldest = this.#byCluster.keys().next();
    if (this.#size > MAX_ANSWERS && oldest.done !== true) this.forget(oldest.value);
  }

  /** Returns the forgotten answers. */
  forget(clusterUID: string): Iterable<readonly [HookName, T]> {
    const answers = this.#byCluster.get(clusterUID);
    this.#byCluster.delete(clusterUID);
    this.#size -= answers?.size ?? 0;
    return answers ?? [];
  }
}
