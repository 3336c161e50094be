/** "a, b, c and 4 more": the first `shown` names. */
export function firstNames(names: readonly string[], shown: number): string {
  const first = names.slice(0, shown).join(", ");
  return names.length > shown ? `${first} and ${names.length - shown} more` : first;
}
