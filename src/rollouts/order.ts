/** The order in which Clusters begin, which is by their labels, and then in turns of their namespaces. */

import { compareText } from "../lib/compare-text.ts";
import { MAX_RUNNING } from "../api/hook-policy.ts";
import { type Labels, lookup } from "../api/selector.ts";

/** Smaller integers, which have up to 15 digits, come first, anything else last. */
export function orderNumber(labels: Labels, orderLabelKey: string | undefined): number {
  if (orderLabelKey === undefined) return 0;
  const label = lookup(labels, orderLabelKey);
  return label !== undefined && /^-?\d{1,15}$/.test(label) ? Number(label) : Number.MAX_SAFE_INTEGER;
}

export interface OrderPlace {
  /** Clusters with a smaller number come before all others. */
  readonly group: number;
  /** Within a group, likewise. */
  readonly order: number;
  readonly namespace: string;
  /** The order within a namespace: since when it waits, and its name. */
  readonly since: number;
  readonly name: string;
}

/** As takeTurns() wants them. */
export function inOrder<T extends OrderPlace>(places: readonly T[]): T[] {
  return places.toSorted(
    (a, b) => a.group - b.group || a.order - b.order || a.since - b.since || compareText(a.name, b.name),
  );
}

/** When each namespace last had its turn. */
export class LastTurns {
  readonly #last = new Map<string, number>();
  #latest = "";
  #count = 0;

  /** `namespaces`: in the order of their last turn, as in a status. */
  constructor(namespaces: readonly string[] = []) {
    for (const namespace of namespaces) this.take(namespace);
  }

  take(namespace: string): void {
    this.#count += 1;
    this.#last.set(namespace, this.#count);
    this.#latest = namespace;
  }

  /**
   * The longest ago comes first. Namespaces without a recorded turn come before all others, by name, starting after the one
   * that had the latest turn: a status cannot name thousands.
   */
  compare(a: string, b: string): number {
    const [lastOfA = 0, lastOfB = 0] = [a, b].map((each) => this.#last.get(each));
    const isNotAfter = (namespace: string): number => Number(compareText(namespace, this.#latest) <= 0);
    return lastOfA - lastOfB || isNotAfter(a) - isNotAfter(b) || compareText(a, b);
  }
}

/**
 * Among Clusters of the same order value, namespaces take turns: in its turn, the first Cluster of the namespace that `begins`
 * accepts has the place. `sorted`: by inOrder().
 */
export function takeTurns<T extends OrderPlace>(
  sorted: readonly T[],
  turns: LastTurns,
  begins: (place: T) => boolean,
): void {
  const ranks = Map.groupBy(sorted, ({ group, order }) => `${group} ${order}`);
  for (const places of ranks.values()) {
    let queues = [...Map.groupBy(places, ({ namespace }) => namespace)]
      .toSorted(([a], [b]) => turns.compare(a, b))
      .map(([namespace, waiting]) => ({ namespace, waiting, next: 0 }));
    while (queues.length > 0)
      queues = queues.filter((queue) => {
        const takes = takesTurn(queue, begins);
        if (takes) turns.take(queue.namespace);
        return takes;
      });
  }
}

function takesTurn<T>(
  queue: { readonly waiting: readonly T[]; next: number },
  begins: (place: T) => boolean,
): boolean {
  while (queue.next < queue.waiting.length) {
    const place = queue.waiting[queue.next];
    queue.next += 1;
    if (place !== undefined && begins(place)) return true;
  }
  return false;
}

/** The turns of a status after one of this namespace. */
export function withTurn(turns: readonly string[] = [], namespace: string): string[] {
  return [...turns.filter((each) => each !== namespace), namespace].slice(-MAX_RUNNING);
}
