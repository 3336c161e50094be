/** The entry of the key; the map has it from now on. */
export function entryOf<K, T>(
  map: { get(key: K): T | undefined; set(key: K, value: T): unknown },
  key: K,
  make: () => T,
): T {
  const known = map.get(key);
  if (known !== undefined) return known;
  const made = make();
  map.set(key, made);
  return made;
}
