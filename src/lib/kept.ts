/** Bounds of what is kept by names that users, or callers, can invent. */

/** In Clusters. */
export const LARGEST_FLEET = 10_000;
const MAX_KEPT = 1000;

/** What only saves work, or repetition: begins again when it is full. */
export class Kept<V> extends Map<string, V> {
  override set(key: string, value: V): this {
    if (this.size >= MAX_KEPT && !this.has(key)) this.clear();
    return super.set(key, value);
  }
}
