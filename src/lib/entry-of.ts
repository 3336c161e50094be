/** The entry of the key; the map has it from now on. */
export function entryOf<K, T>(map: Map<K, T>, key: K, make: () => T): T {
  const found = map.get(key) ?? make();
  map.set(key, found);
  return found;
}
