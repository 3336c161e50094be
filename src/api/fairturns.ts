/** Assigns a few places fairly: in turn over groups, and within a group over its members. */

/** Work that waits for a place; one turn may wait in several queues, and begins from the first that comes to it. */
export interface Turn {
  /** Whether the turn was given up or has begun: it then takes no place. */
  readonly over: () => boolean;
  /** Settles when the place is free again; the outcome does not matter. */
  readonly begin: () => Promise<unknown>;
  /** Called when the turn leaves its queues without a place. */
  readonly drop: () => void;
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
  /** The group whose last turn is longest ago comes first. */
  readonly #groups = new Map<string, Group>();
  #underWay = 0;

  constructor(places: number) {
    this.#places = places;
  }

  /** Begins at once if a place is free. */
  queue(group: string, member: string, turn: Turn): void {
    const ofGroup = entry(this.#groups, group, () => ({ members: new Map(), underWay: 0 }));
    const ofMember = entry(ofGroup.members, member, () => ({ waiting: new Set(), underWay: 0 }));
    ofMember.waiting.add(turn);
    while (this.#underWay < this.#places && this.#beginNext());
  }

  #beginNext(): boolean {
    const most = shareOf(this.#places, this.#groups);
    for (const [name, group] of this.#groups) {
      if (group.underWay >= most) continue;
      if (this.#beginOf(group, most)) {
        toTheEnd(this.#groups, name, group);
        return true;
      }
      if (group.members.size === 0) this.#groups.delete(name);
    }
    return false;
  }

  #beginOf(group: Group, places: number): boolean {
    const most = shareOf(places, group.members);
    for (const [name, member] of group.members) {
      if (member.underWay >= most) continue;
      const turn = nextOf(member);
      if (turn !== undefined) {
        toTheEnd(group.members, name, member);
        this.#begin(turn, group, member);
        return true;
      }
      if (member.underWay === 0) group.members.delete(name);
    }
    return false;
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

/** Leaves room for one more group, so that a new group need not wait for the slow work of the others. */
function shareOf(places: number, among: ReadonlyMap<string, unknown>): number {
  return Math.max(1, Math.floor(places / (among.size + 1)));
}

function nextOf({ waiting }: Member): Turn | undefined {
  for (const turn of waiting) {
    waiting.delete(turn);
    if (!turn.over()) return turn;
    turn.drop();
  }
  return undefined;
}

function toTheEnd<T>(map: Map<string, T>, key: string, value: T): void {
  map.delete(key);
  map.set(key, value);
}

function entry<T>(map: Map<string, T>, key: string, make: () => T): T {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}
