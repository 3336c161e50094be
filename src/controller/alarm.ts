/** One timer for many instants: calls back for each key when its instant has come. */

import { Allowance, type TimeAllowance } from "./allowance.ts";
import { TURN_MS } from "./turn.ts";

/** The clock is checked at least this often: the wall clock can be set, and timers run by another clock. */
const MAX_SLEEP_MS = 30_000;
/** A clock that is set back by less counts as unchanged. */
const SET_BACK_MS = 10_000;
/** The keys, and the time, of one turn of the event loop: ten thousand Clusters may wait for the same window. */
const BATCH = 50;

export class Alarm {
  readonly #dueAt = new Map<string, number>();
  readonly #now: () => Date;
  readonly #onDue: (key: string, at: Date) => void;
  readonly #onSetBack: () => void;
  readonly #ownerOf: (key: string) => string;
  readonly #turnMs: number;
  readonly #allowance: TimeAllowance;
  /** The owner whose turn was last. */
  #served = "";
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Infinity;
  /** The latest instant that the clock has shown since the alarm rang. */
  #seen = -Infinity;
  #stopped = false;

  constructor(options: {
    readonly now: () => Date;
    readonly onDue: (key: string, at: Date) => void;
    /** The clock was set back, so results computed before may lie in its future. */
    readonly onSetBack?: () => void;
    /** Where many keys are due, their owners take turns. */
    readonly ownerOf?: (key: string) => string;
    readonly turnMs?: number;
    readonly allowance?: TimeAllowance;
  }) {
    this.#now = options.now;
    this.#onDue = options.onDue;
    this.#onSetBack = options.onSetBack ?? (() => undefined);
    this.#ownerOf = options.ownerOf ?? (() => "");
    this.#turnMs = options.turnMs ?? TURN_MS;
    this.#allowance = options.allowance ?? new Allowance();
  }

  /** Replaces the key's instant; `undefined` clears it. */
  set(key: string, at: Date | undefined): void {
    if (at === undefined) {
      this.#dueAt.delete(key);
      return;
    }
    this.#dueAt.set(key, at.getTime());
    this.#seen = Math.max(this.#seen, this.#now().getTime());
    if (at.getTime() < this.#wakesAt) this.#sleepUntil(at.getTime());
  }

  get(key: string): Date | undefined {
    const at = this.#dueAt.get(key);
    return at === undefined ? undefined : new Date(at);
  }

  /** Calls back for every key that is due. The callback may set the key again. */
  ring(): void {
    const now = this.#now().getTime();
    const isSetBack = now < this.#seen - SET_BACK_MS;
    this.#seen = now;
    if (isSetBack) this.#onSetBack();
    let due = this.#due(now);
    // Where ten thousand keys are due, to find them takes longer than a turn: its time begins after that.
    const end = performance.now() + this.#turnMs;
    let rung = 0;
    const isOver = (): boolean => rung === BATCH || (rung > 0 && performance.now() > end);
    for (; due.size > 0 && !isOver(); due = this.#due(now)) {
      for (const [owner, key] of inTurns(due, this.#served)) {
        if (isOver()) break;
        const at = this.#dueAt.get(key);
        // An earlier callback may have cleared it.
        if (at === undefined || at > now) continue;
        rung += 1;
        this.#served = owner;
        this.#dueAt.delete(key);
        const began = performance.now();
        this.#onDue(key, new Date(at));
        this.#allowance.spend(owner, performance.now() - began);
      }
    }
    let next = Infinity;
    for (const [key, at] of this.#dueAt)
      next = Math.min(next, at > now ? at : now + this.#allowance.restMs(this.#ownerOf(key)));
    this.#sleepUntil(next);
  }

  /** The due keys by owner, longest wait first; owners that have used up their allowance are left out. */
  #due(now: number): Map<string, string[]> {
    const due = new Map<string, string[]>();
    for (const [key, at] of this.#dueAt) {
      if (at > now) continue;
      const owner = this.#ownerOf(key);
      const keys = due.get(owner);
      if (keys === undefined) due.set(owner, [key]);
      else keys.push(key);
    }
    for (const owner of due.keys()) if (this.#allowance.restMs(owner) > 0) due.delete(owner);
    return due;
  }

  stop(): void {
    this.#stopped = true;
    clearTimeout(this.#timer);
  }

  #sleepUntil(at: number): void {
    clearTimeout(this.#timer);
    this.#wakesAt = at;
    if (at === Infinity || this.#stopped) return;
    const sleep = Math.min(Math.max(at - this.#now().getTime(), 0), MAX_SLEEP_MS);
    this.#timer = setTimeout(() => this.ring(), sleep);
    // The timer alone must not keep a process alive.
    this.#timer.unref();
  }
}

/** Yields one key of each owner, then the next of each, beginning with the owner after the one served last. */
function* inTurns(
  due: ReadonlyMap<string, readonly string[]>,
  served: string,
): Generator<[owner: string, key: string]> {
  const owners = [...due.keys()].toSorted();
  const first = owners.findIndex((owner) => owner > served);
  const order = first < 0 ? owners : [...owners.slice(first), ...owners.slice(0, first)];
  const most = Math.max(0, ...[...due.values()].map(({ length }) => length));
  for (let round = 0; round < most; round += 1) {
    for (const owner of order) {
      const key = due.get(owner)?.[round];
      if (key !== undefined) yield [owner, key];
    }
  }
}
