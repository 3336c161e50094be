/** Orders texts by their code units: the same everywhere, unlike localeCompare(). */
export function compareText(a: string, b: string): number {
  return a < b ? -1 : Number(a > b);
}
