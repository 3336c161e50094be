/** Orders texts by their code units: the same everywhere, unlike localeCompare(). */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}

/** For toSorted(). */
export function byText<T>(keyOf: (each: T) => string): (a: T, b: T) => number {
  return (a, b) => compareText(keyOf(a), keyOf(b));
}
