/** Values by key, each with its own expiry; beyond `limit` the oldest is dropped. */
export class ExpiringMap<V> {
  readonly #limit: number;
  /** In milliseconds. */
  readonly #clock: () => number;
  readonly #entries = new Map<string, { readonly value: V; readonly end: number }>();

  constructor(limit: number, clock: () => number) {
    this.#limit = limit;
    this.#clock = clock;
  }

  get(key: string): V | undefined {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.end > this.#clock()) return entry?.value;
    this.#entries.delete(key);
    return undefined;
  }

  set(key: string, value: V, lifeMs: number): void {
    this.#entries.delete(key);
    this.#entries.set(key, { value, end: this.#clock() + lifeMs });
    const oldest = this.#entries.keys().next();
    if (this.#entries.size > this.#limit && oldest.done !== true) this.#entries.delete(oldest.value);
  }
}
