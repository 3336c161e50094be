/** One timer for many pieces of work, each with a key: calls back for each when its instant has come. */

import { MAX_SKEW_MS } from "../lib/clock-skew.ts";
import { entryOf } from "../lib/entry-of.ts";
import { Allowance, type TimeAllowance } from "./allowance.ts";
import { Instants } from "./instants.ts";
import { SLICE_MS } from "./slice.ts";

/** The clock is checked at least this often, because the wall clock can be set, and timers run by another clock. */
const MAX_SLEEP_MS = 30_000;
/** How much a turn takes out of the queue at most, because the instants of ten thousand Clusters may come together. */
const ARRIVALS = 1000;

interface AlarmOptions {
  readonly now: () => Date;
  /** If much work is due, its owners take turns. */
  readonly ownerOf: (key: string) => string;
  readonly onDue: (key: string, at: Date) => void;
  /** The clock was set back, so results computed before may lie in its future. */
  readonly onSetBack: () => void;
  readonly turnMs?: number | undefined;
  readonly allowance?: TimeAllowance | undefined;
}

export class Alarm {
  /** When work was due, by owner and key: the owner whose turn is next comes first, and its longest wait. */
  readonly #due = new Map<string, Map<string, number>>();
  /** Future work. */
  readonly #later = new Instants();
  readonly #options: AlarmOptions;
  readonly #allowance: TimeAllowance;
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Infinity;
  /** The latest instant that the clock has shown since the alarm rang. */
  #seen = -Infinity;
  #stopped = false;

  constructor(options: AlarmOptions) {
    this.#options = options;
    this.#allowance = options.allowance ?? new Allowance();
  }

  /** Replaces the instant of the same work. Work that is due already keeps its place. */
  set(key: string, instant: Date): void {
    const [now, at] = [this.#options.now().getTime(), instant.getTime()];
    this.#seen = Math.max(this.#seen, now);
    this.#put(key, at, now);
    if (at < this.#wakesAt) this.#sleepUntil(at);
  }

  get(key: string): Date | undefined {
    const at = this.#due.get(this.#options.ownerOf(key))?.get(key) ?? this.#later.get(key);
    return at === undefined ? undefined : new Date(at);
  }

  #put(key: string, at: number, now: number): void {
    const owner = this.#options.ownerOf(key);
    if (at <= now) {
      this.#later.delete(key);
      entryOf(this.#due, owner, () => new Map<string, number>()).set(key, at);
      return;
    }
    this.#due.get(owner)?.delete(key);
    this.#later.set(key, at);
  }

  /** Calls back for all work that is due. The callback may set the same work again. */
  ring(): void {
    const { onDue, onSetBack, turnMs = SLICE_MS } = this.#options;
    const now = this.#options.now().getTime();
    // A clock that goes back by less has not been too far ahead.
    const isSetBack = now < this.#seen - MAX_SKEW_MS;
    this.#seen = now;
    if (isSetBack) onSetBack();
    for (const { key, at } of this.#later.take(now, ARRIVALS)) this.#put(key, at, now);
    const end = performance.now() + turnMs;
    let looked = 0;
    const isOver = (): boolean => looked > 0 && performance.now() > end;
    // An owner comes once more for each piece of its work, behind the others.
    for (const [owner, works] of this.#due) {
      if (isOver()) break;
      if (works.size > 0 && this.#restOf(owner) > 0) continue;
      const [first] = works;
      this.#due.delete(owner);
      if (first === undefined) continue;
      const [key, at] = first;
      works.delete(key);
      if (works.size > 0) this.#due.set(owner, works);
      looked += 1;
      if (at > now) {
        this.#put(key, at, now); // the clock was set back
        continue;
      }
      const began = performance.now();
      onDue(key, new Date(at));
      this.spend(key, performance.now() - began);
    }
    this.#sleepUntil(isOver() ? now : this.#next(now));
  }

  /** When there may be something to do again: owners that have used up their allowance rest. */
  #next(now: number): number {
    let { next } = this.#later;
    for (const owner of this.#due.keys()) next = Math.min(next, now + this.#restOf(owner));
    return next;
  }

  /** How long the owner of the work has to rest, because it has used up its allowance. */
  restMs(key: string): number {
    return this.#restOf(this.#options.ownerOf(key));
  }

  /** Without a namespace there is no limit: administrators wrote those policies. */
  #restOf(owner: string): number {
    return owner === "" ? 0 : this.#allowance.restMs(owner);
  }

  /** The owner's work has taken so long. */
  spend(key: string, ms: number): void {
    const owner = this.#options.ownerOf(key);
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
