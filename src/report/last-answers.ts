import { HOOK_NAMES, type HookName } from "../api/runtime-hooks.ts";

/** Any client that reaches the port can invent Clusters. */
const MAX_ANSWERS = 20_000;

/** The last recorded answer about each Cluster and hook. */
export class LastAnswers<T> {
  /** By hook and uid. The first entry is evicted first: it has not changed for the longest time. */
  readonly #answers = new Map<string, T>();

  get(clusterUID: string, hook: HookName): T | undefined {
    return this.#answers.get(keyOf(clusterUID, hook));
  }

  set(clusterUID: string, hook: HookName, answer: T): void {
    const key = keyOf(clusterUID, hook);
    this.#answers.delete(key); // to the end
    this.#answers.set(key, answer);
    const oldest = this.#answers.keys().next();
    if (this.#answers.size > MAX_ANSWERS && oldest.done !== true) this.#answers.delete(oldest.value);
  }

  /** Returns the forgotten answers. */
  forget(clusterUID: string): (readonly [HookName, T])[] {
    return HOOK_NAMES.flatMap((hook) => {
      const key = keyOf(clusterUID, hook);
      const answer = this.#answers.get(key);
      this.#answers.delete(key);
      return answer === undefined ? [] : [[hook, answer] as const];
    });
  }
}

function keyOf(clusterUID: string, hook: HookName): string {
  return `${hook} ${clusterUID}`;
}
