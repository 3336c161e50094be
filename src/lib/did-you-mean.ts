/** Suggestions for misspelt words. */

import { MAX_QUOTED } from "./quoted-value.ts";

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
    const most = Math.min(least - 1, Math.max(1, Math.floor(each.length / 3)));
    // Each additional letter is a mistake.
    if (Math.abs(each.length - word.length) > most) continue;
    const mistakes = distance(lower, each.toLowerCase());
    if (mistakes <= most) [best, least] = [each, mistakes];
  }
  return (
    best ??
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

/** Levenshtein distance in which two swapped neighbours are one mistake; none of the dependencies exports it. */
function distance(a: string, b: string): number {
  const rows = [Array.from({ length: b.length + 1 }, (_, j) => j)];
  const cell = (i: number, j: number): number => rows[i]?.[j] ?? Infinity;
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    rows.push(row);
    for (let j = 1; j <= b.length; j++) {
      const isSwapped = a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1];
      const swapped = isSwapped ? cell(i - 2, j - 2) + 1 : Infinity;
      const replaced = cell(i - 1, j - 1) + Number(a[i - 1] !== b[j - 1]);
      row.push(Math.min(swapped, replaced, cell(i - 1, j) + 1, cell(i, j - 1) + 1));
    }
  }
  return cell(a.length, b.length);
}
