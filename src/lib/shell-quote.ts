/** Words of a command that is printed to be pasted into a shell. */

import { isPrintable, replaceUnprintable } from "./printable.ts";

/** Several commands are run one after the other, each once the one before has succeeded. */
export type CommandLine = string | readonly string[];

const encoder = new TextEncoder();
const SHELL_SAFE = /^[A-Za-z0-9_./:@%+,=-]+$/;

/** Quotes a word, so that a printed command can be pasted. Unprintable characters need bash, zsh or POSIX.1-2024. */
export function shellQuote(word: string): string {
  if (SHELL_SAFE.test(word)) return word;
  if (isPrintable(word)) return `'${word.replaceAll("'", `'\\''`)}'`;
  return `$'${replaceUnprintable(word.replaceAll(/['\\]/g, "\\$&"), octal)}'`;
}

/** The UTF-8 bytes as octal escapes. */
function octal(text: string): string {
  return Array.from(encoder.encode(text), (byte) => `\\${byte.toString(8).padStart(3, "0")}`).join("");
}
