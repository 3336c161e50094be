/**
 * The texts that users read. The same state gives the same bytes on every replica: Cluster API writes them into a
 * condition, and a changed text makes it reconcile at once (Runtime SDK guide, "Error messages").
 */

import { printable } from "../lib/printable.ts";
import { byteLength, truncateBytes } from "../lib/truncate.ts";
import type { FieldError } from "./validation/schema.ts";

/** Cluster API does not truncate, and a condition that is too long makes its status patch fail. */
const MAX_MESSAGE_BYTES = 1024;

const SEPARATOR = "; ";

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

/** More than fit into a condition. */
const MAX_DESCRIBED = 32;

export function describeErrors(errors: readonly FieldError[]): string {
  const described = errors.slice(0, MAX_DESCRIBED).map(({ path, message }) => `${path}: ${message}`);
  return `${described.join(SEPARATOR)}${andMore(errors.length - described.length)}`;
}
