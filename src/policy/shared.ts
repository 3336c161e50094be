/** Values that depend only on their key: created once and kept while they are referenced. */
export class Shared<T extends object> {
  readonly #make: (key: string) => T;
  readonly #known = new Map<string, WeakRef<T>>();
  readonly #gone = new FinalizationRegistry<string>((key) => {
    if (this.#known.get(key)?.deref() === undefined) this.#known.delete(key);
  });

  constructor(make: (key: string) => T) {
    this.#make = make;
  }

  get(key: string): T {
    const known = this.#known.get(key)?.deref();
    if (known !== undefined) return known;
    const made = this.#make(key);
    this.#known.set(key, new WeakRef(made));
    this.#gone.register(made, key);
    return made;
  }
}
