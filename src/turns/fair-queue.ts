/** Work that waits in fair order: groups take turns, and within a group its members. */

import { entryOf } from "../lib/entry-of.ts";

/** Work may wait in several queues; the first one that begins it wins. */
interface WaitingWork {
  readonly begin: () => unknown;
  /** Whether the work was given up or has begun elsewhere; if so, it is skipped. */
  readonly over?: () => boolean;
  /** Called when the work leaves its queue without a place. */
  readonly drop?: () => void;
}

interface Member<T> {
  readonly waiting: Set<T>;
  underWay: number;
}

interface Group<T> {
  readonly members: Map<string, Member<T>>;
  underWay: number;
}

export class FairQueue<T extends WaitingWork> {
  readonly #places: number;
  /** In both maps, the entry whose last turn is longest ago comes first. */
  readonly #groups = new Map<string, Group<T>>();
  #underWay = 0;
  #size = 0;

  /** `places`: how much may be under way at the same time. */
  constructor(places = Infinity) {
    this.#places = places;
  }

  get size(): number {
    return this.#size;
  }

  waitingOf(group: string, member: string): number {
    return this.#groups.get(group)?.members.get(member)?.waiting.size ?? 0;
  }

  add(group: string, member: string, work: T): void {
    const { members } = entryOf(this.#groups, group, () => ({ members: new Map(), underWay: 0 }));
    const { waiting } = entryOf(members, member, () => ({ waiting: new Set<T>(), underWay: 0 }));
    if (!waiting.has(work)) this.#size += 1;
    waiting.add(work);
  }

  /** `undefined`: nothing may begin now. The caller calls `end` when the place is free again. */
  take(): { readonly work: T; readonly end: () => void } | undefined {
    if (this.#underWay >= this.#places) return undefined;
    return firstOf(this.#groups, this.#places, (group, places) =>
      firstOf(group.members, places, (member) => {
        const work = this.#nextOf(member);
        return work === undefined ? undefined : { work, end: this.#begin(group, member) };
      }),
    );
  }

  #begin(...all: readonly (Group<T> | Member<T>)[]): () => void {
    this.#underWay += 1;
    for (const each of all) each.underWay += 1;
    return () => {
      this.#underWay -= 1;
      for (const each of all) each.underWay -= 1;
      if (this.#underWay === 0 && this.#size === 0) this.#groups.clear();
    };
  }

  #nextOf({ waiting }: Member<T>): T | undefined {
    for (const work of waiting) {
      waiting.delete(work);
      this.#size -= 1;
      if (work.over?.() !== true) return work;
      work.drop?.();
    }
    return undefined;
  }
}

/** Moves the entry that begins to the end, and removes entries without work. */
function firstOf<T extends { readonly underWay: number }, R>(
  entries: Map<string, T>,
  places: number,
  begin: (entry: T, share: number) => R | undefined,
): R | undefined {
  // Leaves room for one more entry, so that a new one need not wait for the slow work of the others.
  const share = Math.max(1, Math.floor(places / (entries.size + 1)));
  for (const [name, entry] of entries) {
    if (entry.underWay >= share) continue;
    const begun = begin(entry, share);
    if (begun !== undefined) {
      entries.delete(name);
      entries.set(name, entry);
      return begun;
    }
    if (entry.underWay === 0) entries.delete(name);
  }
  return undefined;
}

export interface Turn extends WaitingWork {
  /** Settles when the place is free again; the outcome does not matter. */
  readonly begin: () => Promise<unknown>;
}

/** Begins asynchronous work as soon as a place is free. */
export class FairTurns {
  readonly #queue: FairQueue<Turn>;

  constructor(places: number) {
    this.#queue = new FairQueue(places);
  }

  waitingOf(group: string, member: string): number {
    return this.#queue.waitingOf(group, member);
  }

  /** Settles as the work does, once it had its turn. */
  async run<T>(group: string, work: () => Promise<T>): Promise<T> {
    const { promise, resolve, reject } = Promise.withResolvers<T>();
    this.queue(group, "", { begin: async () => await work().then(resolve, reject) });
    return await promise;
  }

  queue(group: string, member: string, turn: Turn): void {
    this.#queue.add(group, member, turn);
    this.#beginAll();
  }

  #beginAll(): void {
    for (let next = this.#queue.take(); next !== undefined; next = this.#queue.take()) {
      const { work, end } = next;
      const ended = (): void => {
        end();
        this.#beginAll();
      };
      work.begin().then(ended, ended);
    }
  }
}
