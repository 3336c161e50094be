/** One timer for many pieces of work: calls back for each when its instant has come. */

import { entryOf } from "../lib/entry-of.ts";
import { Allowance, type TimeAllowance } from "./allowance.ts";
import { Instants } from "./instants.ts";
import { SLICE_MS } from "./slice.ts";

/** The clock is checked at least this often, because the wall clock can be set, and timers run by another clock. */
const MAX_SLEEP_MS = 30_000;
/** A clock that is set back by less counts as unchanged. */
const SET_BACK_MS = 10_000;
/** How much work one turn of the event loop does at most: ten thousand Clusters may wait for the same window. */
const BATCH = 50;
/** How much a turn takes out of the queue at most, because the instants of ten thousand Clusters may come together. */
const ARRIVALS = 1000;

interface AlarmOptions<T> {
  readonly now: () => Date;
  /** The same work has the same key, and the same owner. */
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
  readonly key: string;
  readonly owner: string;
  readonly work: T;
  readonly at: number;
}

export class Alarm<T> {
  /** Work whose instant has come, by owner and key: the owner whose turn is next comes first, and its longest wait. */
  readonly #due = new Map<string, Map<string, Entry<T>>>();
  /** Future work. */
  readonly #later = new Instants<Entry<T>>();
  readonly #options: AlarmOptions<T>;
  readonly #allowance: TimeAllowance;
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Infinity;
  /** The latest instant that the clock has shown since the alarm rang. */
  #seen = -Infinity;
  #stopped = false;

  constructor(options: AlarmOptions<T>) {
    this.#options = options;
    this.#allowance = options.allowance ?? new Allowance();
  }

  /** Replaces the instant of the same work; `undefined` clears it. Work that is due already keeps its place. */
  set(work: T, at: Date | undefined): void {
    const { keyOf, ownerOf } = this.#options;
    const [key, owner] = [keyOf(work), ownerOf(work)];
    if (at === undefined) {
      this.#due.get(owner)?.delete(key);
      this.#later.delete(key);
      return;
    }
    const now = this.#options.now().getTime();
    this.#seen = Math.max(this.#seen, now);
    this.#put({ key, owner, work, at: at.getTime() }, now);
    if (at.getTime() < this.#wakesAt) this.#sleepUntil(at.getTime());
  }

  get(work: T): Date | undefined {
    const { keyOf, ownerOf } = this.#options;
    const key = keyOf(work);
    const entry = this.#due.get(ownerOf(work))?.get(key) ?? this.#later.get(key);
    return entry && new Date(entry.at);
  }

  #put(entry: Entry<T>, now: number): void {
    const { key, owner, at } = entry;
    if (at <= now) {
      this.#later.delete(key);
      entryOf(this.#due, owner, () => new Map<string, Entry<T>>()).set(key, entry);
      return;
    }
    this.#due.get(owner)?.delete(key);
    this.#later.set(entry);
  }

  /** Calls back for all work that is due. The callback may set the same work again. */
  ring(): void {
    const { onDue, onSetBack, turnMs = SLICE_MS } = this.#options;
    const now = this.#options.now().getTime();
    const isSetBack = now < this.#seen - SET_BACK_MS;
    this.#seen = now;
    if (isSetBack) onSetBack();
    this.#arrive(now);
    const end = performance.now() + turnMs;
    let looked = 0;
    const isOver = (): boolean => looked === BATCH || (looked > 0 && performance.now() > end);
    // An owner comes once more for each piece of its work, behind the others.
    for (const [owner, works] of this.#due) {
      if (isOver()) break;
      if (works.size > 0 && this.#restMs(owner) > 0) continue;
      const [entry] = works.values();
      this.#due.delete(owner);
      if (entry === undefined) continue;
      works.delete(entry.key);
      if (works.size > 0) this.#due.set(owner, works);
      looked += 1;
      if (entry.at > now) {
        this.#put(entry, now); // the clock was set back
        continue;
      }
      const began = performance.now();
      onDue(entry.work, new Date(entry.at));
      this.#spend(owner, performance.now() - began);
    }
    this.#sleepUntil(isOver() ? now : this.#next(now));
  }

  /** Makes work due whose instant has come; what is left has to wait for the next turn. */
  #arrive(now: number): void {
    for (const entry of this.#later.take(now, ARRIVALS)) this.#put(entry, now);
  }

  /** When there may be something to do again: owners that have used up their allowance rest. */
  #next(now: number): number {
    let { next } = this.#later;
    for (const owner of this.#due.keys()) next = Math.min(next, now + this.#restMs(owner));
    return next;
  }

  /** How long the owner of the work has to rest, because it has used up its allowance. */
  restMs(work: T): number {
    return this.#restMs(this.#options.ownerOf(work));
  }

  /** The owner's work has taken so long, although it was not due. */
  spend(work: T, ms: number): void {
    this.#spend(this.#options.ownerOf(work), ms);
  }

  /** Without a namespace there is no limit: administrators wrote those policies. */
  #restMs(owner: string): number {
    return owner === "" ? 0 : this.#allowance.restMs(owner);
  }

  #spend(owner: string, ms: number): void {
    if (owner !== "") this.#allowance.spend(owner, ms);
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
