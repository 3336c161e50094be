/** One timer for many instants: calls back for each key when its instant has come. */

/** Looked at again at least this often: a wall clock can be set, and a timer runs by another one. */
const MAX_SLEEP_MS = 30_000;
/** Keys, and time, of one turn of the event loop: ten thousand Clusters may wait for the same window. */
const BATCH = 50;
const TURN_MS = 15;

export class Alarm {
  readonly #dueAt = new Map<string, number>();
  readonly #now: () => Date;
  readonly #onDue: (key: string, at: Date) => void;
  #timer: NodeJS.Timeout | undefined;
  #wakesAt = Infinity;
  #stopped = false;

  constructor(options: { readonly now: () => Date; readonly onDue: (key: string, at: Date) => void }) {
    this.#now = options.now;
    this.#onDue = options.onDue;
  }

  /** Replaces the key's instant; `undefined` clears it. */
  set(key: string, at: Date | undefined): void {
    if (at === undefined) {
      this.#dueAt.delete(key);
      return;
    }
    this.#dueAt.set(key, at.getTime());
    if (at.getTime() < this.#wakesAt) this.#sleepUntil(at.getTime());
  }

  get(key: string): Date | undefined {
    const at = this.#dueAt.get(key);
    return at === undefined ? undefined : new Date(at);
  }

  /** Calls back for what is due. The callback may set the key again. */
  ring(): void {
    const now = this.#now().getTime();
    let next = Infinity;
    const end = performance.now() + TURN_MS;
    let rung = 0;
    for (const [key, at] of this.#dueAt) {
      if (at > now || rung === BATCH || (rung > 0 && performance.now() > end)) {
        next = Math.min(next, at);
        continue;
      }
      rung += 1;
      this.#dueAt.delete(key);
      this.#onDue(key, new Date(at));
    }
    for (const at of this.#dueAt.values()) next = Math.min(next, at);
    this.#sleepUntil(next);
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
    // It alone must not keep a process alive.
    this.#timer.unref();
  }
}
