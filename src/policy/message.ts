/**
 * The texts that users read. The same state gives the same bytes on every replica: Cluster API writes them into a
 * condition, and a changed text makes it reconcile at once (Runtime SDK guide, "Error messages").
 */

import { isPrintable, printable, replaceUnprintable } from "../lib/printable.ts";
import type { FieldError } from "./validation/schema.ts";

/** Cluster API does not truncate, and a condition that is too long makes its status patch fail. */
const MAX_MESSAGE_BYTES = 1024;

const SEPARATOR = "; ";
const encoder = new TextEncoder();

/** A reason for holding an operation. `brief`: the part of it that stays where there is no room for all of it. */
interface Reason {
  readonly text: string;
  readonly brief?: string | undefined;
}

/**
 * Joins the reasons for holding an operation to at most 1 KiB, then adds "and N more". What the operator adds to the words
 * of authors is left out before those are.
 */
export function joinMessages(reasons: readonly Reason[]): string {
  const all = joined(reasons.map(({ text }) => text));
  if (!all.isCut || reasons.every(({ brief }) => brief === undefined)) return all.text;
  const parts = reasons.map(({ text, brief = text }) => brief);
  let best = joined(parts);
  if (best.isCut) return best.text;
  for (const [index, { text, brief = "" }] of reasons.entries()) {
    const next = joined(parts.with(index, text));
    if (next.isCut) {
      const room = MAX_MESSAGE_BYTES - byteLength(best.text) + byteLength(brief);
      return joined(parts.with(index, truncateBytes(printable(text), room))).text;
    }
    parts[index] = text;
    best = next;
  }
  return best.text;
}

function joined(parts: readonly string[]): { readonly text: string; readonly isCut: boolean } {
  let text = "";
  for (const [index, raw] of parts.entries()) {
    const part = printable(raw.slice(0, MAX_MESSAGE_BYTES + 1));
    const next = index === 0 ? part : `${text}${SEPARATOR}${part}`;
    const left = parts.length - index - 1;
    const reserve = left > 0 ? andMore(left) : "";
    if (byteLength(next + reserve) > MAX_MESSAGE_BYTES) {
      const more = andMore(parts.length - Math.max(index, 1));
      const room = MAX_MESSAGE_BYTES - byteLength(more);
      return { text: truncateBytes(index === 0 ? part : text, room) + more, isCut: true };
    }
    text = next;
  }
  return { text, isCut: false };
}

function andMore(count: number): string {
  return count > 0 ? `${SEPARATOR}and ${count} more` : "";
}

function byteLength(text: string): number {
  return encoder.encode(text).length;
}

/** Truncates to a number of bytes, between characters. */
export function truncateBytes(text: string, max: number): string {
  const ellipsis = "…";
  // A UTF-16 unit is at least one byte, so anything longer can be dropped first.
  let cut = text.length <= max ? text : `${text.slice(0, max).toWellFormed()}${ellipsis}`;
  while (byteLength(cut) > max) {
    // Whole code points only: half a surrogate pair is not valid UTF-8.
    const points = Array.from(cut.endsWith(ellipsis) ? cut.slice(0, -1) : cut);
    const over = byteLength(cut) - max;
    cut = points.slice(0, -Math.max(1, Math.ceil(over / 4))).join("") + ellipsis;
  }
  return cut;
}

/** Truncates to a number of characters (code points, as the API server counts maxLength). */
export function truncate(text: string, max: number): string {
  if (text.length <= max) return text;
  // A code point has at most two units.
  const points = Array.from(text.slice(0, 2 * max + 1));
  return points.length <= max ? text : `${points.slice(0, max - 1).join("")}…`;
}

/** More than fit into a condition. */
const MAX_DESCRIBED = 32;

export function describeErrors(errors: readonly FieldError[]): string {
  const described = errors.slice(0, MAX_DESCRIBED).map(({ path, message }) => `${path}: ${message}`);
  return `${described.join(SEPARATOR)}${andMore(errors.length - described.length)}`;
}

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
