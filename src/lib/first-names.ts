/** "a, b, c and 4 more": the first names. */
export function firstNames(names: readonly string[], shown = 5): string {
  const first = names.slice(0, shown).join(", ");
  return names.length > shown ? `${first} and ${names.length - shown} more` : first;
}
