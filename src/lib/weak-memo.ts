/** Returns a function that makes each value once, by its key, and keeps it while it is referenced. */
export function weakMemo<T extends object>(make: (key: string) => T): (key: string) => T {
  const known = new Map<string, WeakRef<T>>();
  const gone = new FinalizationRegistry<string>((key) => {
    if (known.get(key)?.deref() === undefined) known.delete(key);
  });
  return (key) => {
    const found = known.get(key)?.deref();
    if (found !== undefined) return found;
    const made = make(key);
    known.set(key, new WeakRef(made));
    gone.register(made, key);
    return made;
  };
}
