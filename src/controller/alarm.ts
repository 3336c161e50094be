/** One timer for many pieces of work: calls back for each when its instant has come. */

import { entryOf } from "../api/entryof.ts";
import { Allowance, type TimeAllowance } from "./allowance.ts";
import { TURN_MS } from "./turn.ts";

/** The clock is checked at least this often: the wall clock can be set, and timers run by another clock. */
const MAX_SLEEP_MS = 30_000;
/** A clock that is set back by less counts as unchanged. */
const SET_BACK_MS = 10_000;
/** How much work one turn of the event loop does at most: ten thousand Clusters may wait for the same window. */
const BATCH = 50;

interface AlarmOptions<T> {
  readonly now: () => Date;
  /** The same work has the same key. */
  readonly keyOf: (work: T) => string;
  /** If much work is due, its owners take turns. */
  readonly ownerOf: (work: T) => string;
  readonly onDue: (work: T, at: Date) => void;
  /** The clock was set back, so results computed before may lie in its future. */
  readonly onSetBack: () => void;
  readonly turnMs?: number | undefined;
  readonly allowance?: TimeAllowance | undefined;
}

interface Entry<T> {
  readonly work: T;
  readonly at: number;
}

export class Alarm<T> {
  readonly #entries = new Map<string, Entry<T>>();
  readonly #options: AlarmOptions<T>;
  readonly #allowance: TimeAllowance;
  /** The owner whose turn was last. */
  #served = "";
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Infinity;
  /** The latest instant that the clock has shown since the alarm rang. */
  #seen = -Infinity;
  #stopped = false;

  constructor(options: AlarmOptions<T>) {
    this.#options = options;
    this.#allowance = options.allowance ?? new Allowance();
  }

  /** Replaces the instant of the same work; `undefined` clears it. */
  set(work: T, at: Date | undefined): void {
    const { keyOf, now } = this.#options;
    const key = keyOf(work);
    if (at === undefined) {
      this.#entries.delete(key);
      return;
    }
    this.#entries.set(key, { work, at: at.getTime() });
    this.#seen = Math.max(this.#seen, now().getTime());
    if (at.getTime() < this.#wakesAt) this.#sleepUntil(at.getTime());
  }

  get(work: T): Date | undefined {
    const entry = this.#entries.get(this.#options.keyOf(work));
    return entry && new Date(entry.at);
  }

  /** Calls back for all work that is due. The callback may set the same work again. */
  ring(): void {
    const { onDue, onSetBack, turnMs = TURN_MS } = this.#options;
    const now = this.#options.now().getTime();
    const isSetBack = now < this.#seen - SET_BACK_MS;
    this.#seen = now;
    if (isSetBack) onSetBack();
    let due = this.#due(now);
    // Finding ten thousand pieces of work takes longer than a turn, so its time begins after that.
    const end = performance.now() + turnMs;
    let rung = 0;
    const isOver = (): boolean => rung === BATCH || (rung > 0 && performance.now() > end);
    while (due.size > 0 && !isOver()) {
      for (const [owner, key] of inTurns(due, this.#served)) {
        if (isOver()) break;
        const entry = this.#entries.get(key);
        // An earlier callback may have cleared it.
        if (entry === undefined || entry.at > now) continue;
        rung += 1;
        this.#served = owner;
        this.#entries.delete(key);
        const began = performance.now();
        onDue(entry.work, new Date(entry.at));
        this.#allowance.spend(owner, performance.now() - began);
      }
      if (!isOver()) due = this.#due(now);
    }
    this.#sleepUntil(isOver() ? now : this.#next(now));
  }

  #next(now: number): number {
    let next = Infinity;
    for (const { work, at } of this.#entries.values())
      next = Math.min(next, at > now ? at : now + this.#allowance.restMs(this.#options.ownerOf(work)));
    return next;
  }

  /** The keys of due work by owner, longest wait first; owners that have used up their allowance are left out. */
  #due(now: number): Map<string, string[]> {
    const due = new Map<string, string[]>();
    for (const [key, { work, at }] of this.#entries) {
      if (at <= now) entryOf(due, this.#options.ownerOf(work), () => []).push(key);
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
    const sleep = Math.min(Math.max(at - this.#options.now().getTime(), 0), MAX_SLEEP_MS);
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
