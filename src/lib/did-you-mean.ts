/** Suggestions for misspelt words. */

import { MAX_QUOTED } from "./found.ts";

/** The suggestion as the end of a message; "" if no word is near. */
export function didYouMean(word: string, words: readonly string[]): string {
  return suggested(nearest(word, words));
}

export function suggested(meant: string | undefined): string {
  return meant === undefined ? "" : `; did you mean ${JSON.stringify(meant)}?`;
}

/** A suggestion for a misspelt word: wrong case, about every third letter wrong, or a part left out. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  if (word.length > MAX_QUOTED) return undefined;
  const lower = word.toLowerCase();
  let best: string | undefined;
  let least = Infinity;
  for (const each of words) {
    const limit = Math.min(least, tolerated(each) + 1);
    // Each additional letter is a mistake.
    if (Math.abs(each.length - word.length) >= limit) continue;
    const mistakes = distance(lower, each.toLowerCase(), limit);
    if (mistakes < limit) [best, least] = [each, mistakes];
  }
  if (best !== undefined) return best;
  return (
    words.find((each) => lower !== "" && each.toLowerCase().replace("cluster", "") === lower) ??
    words.find((each) => isShortened(lower, each.toLowerCase())) ??
    onlyOne(words, (each) => lower.length >= TELLING && each.endsWith(lower.slice(-TELLING))) ??
    // KeepBlocking for Block.
    onlyOne(words, (each) => lower.length >= KEPT && each.includes(lower))
  );
}

function onlyOne(words: readonly string[], fits: (lower: string) => boolean): string | undefined {
  const alike = words.filter((each) => fits(each.toLowerCase()));
  return alike.length === 1 ? alike[0] : undefined;
}

/** So many letters at the end may identify a word: onDelete means BeforeClusterDelete. */
const TELLING = 6;

/** So many letters before and after a missing part must be right: BeforeDelete means BeforeClusterDelete. */
const KEPT = 4;

/** Whether `word` is `full` without a part in the middle. */
function isShortened(word: string, full: string): boolean {
  if (word.length >= full.length) return false;
  for (let at = KEPT; at <= word.length - KEPT; at += 1) {
    if (full.startsWith(word.slice(0, at)) && full.endsWith(word.slice(at))) return true;
  }
  return false;
}

/** The tolerated number of mistakes in a word. */
function tolerated({ length }: string): number {
  return Math.max(1, Math.floor(length / 3));
}

/**
 * Levenshtein distance in which two swapped neighbours are one mistake, or a number that is too large; none of the
 * dependencies exports it.
 */
function distance(a: string, b: string, tooLarge: number): number {
  let [above, row] = [new Uint16Array(b.length + 1), Uint16Array.from({ length: b.length + 1 }, (_, j) => j)];
  let leastAbove = 0;
  for (let i = 1; i <= a.length; i++) {
    const next = new Uint16Array(b.length + 1);
    next[0] = i;
    let least = i;
    for (let j = 1; j <= b.length; j++) {
      const replaced = cell(row, j - 1) + Number(a[i - 1] !== b[j - 1]);
      const isSwapped = i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? cell(above, j - 2) + 1 : Infinity;
      const mistakes = Math.min(replaced, swapped, cell(row, j) + 1, cell(next, j - 1) + 1);
      next[j] = mistakes;
      least = Math.min(least, mistakes);
    }
    if (Math.min(least, leastAbove + 1) >= tooLarge) return tooLarge;
    [above, row, leastAbove] = [row, next, least];
  }
  return cell(row, b.length);
}

function cell(row: Uint16Array, index: number): number {
  return row[index] ?? 0;
}
