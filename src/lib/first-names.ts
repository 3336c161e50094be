/** How many of several are named in a line. */
export const SHOWN = 5;
/** How many a list shows of what can be thousands. */
export const MANY_SHOWN = 20;

/** "a, b, c and 4 more": the first names. */
export function firstNames(names: readonly string[], shown = SHOWN): string {
  const first = names.slice(0, shown).join(", ");
  return names.length > shown ? `${first} and ${names.length - shown} more` : first;
}
