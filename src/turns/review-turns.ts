/**
 * Bounds how many reviews run and wait at the same time, and chooses the next one: each share gets its turns regardless
 * of the load of the others. Any client that reaches the port can name any share, but every share has the same bounds.
 */

import { Allowance } from "./allowance.ts";

export interface TurnLimits {
  /** Running reviews, including those that wait for the API server. */
  readonly atOnce: number;
  readonly waiting: number;
  readonly waitingOfOne: number;
  /** A review that has waited this long is refused. */
  readonly waitMs: number;
  /** Reviews of one share, on average; `burst` more after a pause. */
  readonly perSecond: number;
  readonly burst: number;
  /** Shares that are kept apart; any further ones are one share together. */
  readonly shares: number;
}

const LIMITS: TurnLimits = {
  atOnce: 8,
  waiting: 64,
  waitingOfOne: 16,
  waitMs: 1500,
  perSecond: 20,
  burst: 60,
  shares: 1024,
};

/** Ends the turn and must be called once; the share gets its next turn after `restMs`. */
export type Turn = (restMs: number) => void;

interface Share {
  readonly name: string;
  /** A review of this share is running, or the share rests after one. */
  busy: boolean;
  readonly waiting: ((turn: Turn | undefined) => void)[];
}

const THE_OTHERS = "";

export class Turns {
  readonly #limits: TurnLimits;
  readonly #allowance: Allowance;
  readonly #shares = new Map<string, Share>();
  /** Shares with waiting reviews; the one whose last turn is longest ago comes first. */
  readonly #queue = new Set<Share>();
  #running = 0;
  #waiting = 0;

  constructor(limits: Partial<TurnLimits> = {}) {
    this.#limits = { ...LIMITS, ...limits };
    const { perSecond, burst } = this.#limits;
    // Who has used all but one of them may still begin that one.
    this.#allowance = new Allowance(undefined, { perMs: perSecond / 1000, burst: burst - 1, debt: 1 });
  }

  /** `undefined`: refused because there are too many. */
  async take(name: string): Promise<Turn | undefined> {
    const share = this.#shareOf(name);
    if (this.#allowance.restMs(share.name) > 0) return undefined;
    this.#allowance.spend(share.name, 1);
    if (!this.#makeRoom(share)) return undefined;
    const { promise, resolve } = Promise.withResolvers<Turn | undefined>();
    const timer = setTimeout(() => this.#giveUp(share, resolve), this.#limits.waitMs);
    share.waiting.push(resolve);
    this.#waiting += 1;
    this.#queue.add(share);
    this.#next();
    const turn = await promise;
    clearTimeout(timer);
    return turn;
  }

  #shareOf(name: string): Share {
    const known = this.#shares.get(name);
    if (known !== undefined) return known;
    if (this.#shares.size >= this.#limits.shares) this.#forgetIdle();
    if (this.#shares.size >= this.#limits.shares && name !== THE_OTHERS) return this.#shareOf(THE_OTHERS);
    const share: Share = { name, busy: false, waiting: [] };
    this.#shares.set(name, share);
    return share;
  }

  #forgetIdle(): void {
    for (const { name, busy, waiting } of this.#shares.values())
      if (!busy && waiting.length === 0 && this.#allowance.isUnused(name)) this.#shares.delete(name);
  }

  /** When all places are taken, the share with the most waiting reviews gives up its newest one. */
  #makeRoom({ waiting }: Share): boolean {
    if (waiting.length >= this.#limits.waitingOfOne) return false;
    if (this.#waiting < this.#limits.waiting) return true;
    const [most] = [...this.#queue].toSorted((a, b) => b.waiting.length - a.waiting.length);
    const newest = most?.waiting.at(-1);
    if (most === undefined || newest === undefined || most.waiting.length <= waiting.length + 1) return false;
    this.#giveUp(most, newest);
    return true;
  }

  #giveUp(share: Share, resolve: Share["waiting"][number]): void {
    const at = share.waiting.indexOf(resolve);
    if (at < 0) return;
    share.waiting.splice(at, 1);
    this.#left(share);
    resolve(undefined);
  }

  #left(share: Share): void {
    this.#waiting -= 1;
    if (share.waiting.length === 0) this.#queue.delete(share);
  }

  #next(): void {
    for (const share of this.#queue) {
      if (this.#running >= this.#limits.atOnce) return;
      if (!share.busy) this.#begin(share);
    }
  }

  #begin(share: Share): void {
    const resolve = share.waiting.shift();
    if (resolve === undefined) return;
    this.#left(share);
    if (this.#queue.delete(share)) this.#queue.add(share); // to the end
    share.busy = true;
    this.#running += 1;
    resolve((restMs) => {
      this.#running -= 1;
      setTimeout(() => {
        share.busy = false;
        this.#next();
      }, restMs);
      this.#next();
    });
  }
}
