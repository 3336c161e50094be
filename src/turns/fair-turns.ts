/** Assigns a few places fairly: to groups in turn, and within a group to its members in turn. */

import { entryOf } from "../lib/entry-of.ts";

/** Work that waits for a place. A turn may wait in several queues, and takes the first place that it gets. */
export interface Turn {
  /** Whether the turn was given up or has begun: it then takes no place. */
  readonly over: () => boolean;
  /** Settles when the place is free again; the outcome does not matter. */
  readonly begin: () => Promise<unknown>;
  /** Called when the turn leaves its queues without a place. */
  readonly drop?: () => void;
}

interface Member {
  readonly waiting: Set<Turn>;
  underWay: number;
}

interface Group {
  readonly members: Map<string, Member>;
  underWay: number;
}

export class FairTurns {
  readonly #places: number;
  readonly #groups = new Map<string, Group>();
  #underWay = 0;

  constructor(places: number) {
    this.#places = places;
  }

  /** Begins at once if a place is free. */
  queue(group: string, member: string, turn: Turn): void {
    const { members } = entryOf(this.#groups, group, () => ({ members: new Map(), underWay: 0 }));
    entryOf(members, member, () => ({ waiting: new Set(), underWay: 0 })).waiting.add(turn);
    while (this.#underWay < this.#places && this.#beginNext());
  }

  #beginNext(): boolean {
    return beginInTurn(this.#groups, this.#places, (group, places) =>
      beginInTurn(group.members, places, (member) => {
        const turn = nextOf(member);
        if (turn !== undefined) this.#begin(turn, group, member);
        return turn !== undefined;
      }),
    );
  }

  #begin(turn: Turn, group: Group, member: Member): void {
    const all = [group, member];
    this.#underWay += 1;
    for (const each of all) each.underWay += 1;
    const end = (): void => {
      this.#underWay -= 1;
      for (const each of all) each.underWay -= 1;
      while (this.#underWay < this.#places && this.#beginNext());
    };
    turn.begin().then(end, end);
  }
}

/** The entry whose last turn is longest ago comes first. Entries without turns are removed. */
function beginInTurn<T extends { readonly underWay: number }>(
  entries: Map<string, T>,
  places: number,
  begin: (entry: T, share: number) => boolean,
): boolean {
  // Leaves room for one more entry, so that a new one need not wait for the slow work of the others.
  const share = Math.max(1, Math.floor(places / (entries.size + 1)));
  for (const [name, entry] of entries) {
    if (entry.underWay >= share) continue;
    if (begin(entry, share)) {
      entries.delete(name);
      entries.set(name, entry);
      return true;
    }
    if (entry.underWay === 0) entries.delete(name);
  }
  return false;
}

function nextOf({ waiting }: Member): Turn | undefined {
  for (const turn of waiting) {
    waiting.delete(turn);
    if (!turn.over()) return turn;
    turn.drop?.();
  }
  return undefined;
}
