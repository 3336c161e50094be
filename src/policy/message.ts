/**
 * The texts that users read. The same state gives the same bytes on every replica: Cluster API writes them into a
 * condition, and a changed text makes it reconcile at once (Runtime SDK guide, "Error messages").
 */

import { printable } from "../lib/printable.ts";
import { byteLength, truncate, truncateText, truncateTextBytes } from "../lib/truncate.ts";
import { afterWords, type RuleTrace, unmetGates } from "./decision.ts";
import type { FieldError } from "./validation/schema.ts";

/** Cluster API does not truncate, and a condition that is too long makes its status patch fail. */
const MAX_MESSAGE_BYTES = 1024;

/** The API server truncates longer warnings, and drops all after 4096 bytes (apiserver: endpoints/filters/warning.go). */
export const MAX_WARNING = 256;

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
      return joined(parts.with(index, truncateTextBytes(printable(text), room))).text;
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
      return {
        text: index === 0 ? truncateTextBytes(printable(raw), room) + more : text + more,
        isCut: true,
      };
    }
    text = next;
  }
  return { text, isCut: false };
}

function andMore(count: number): string {
  return count > 0 ? `${SEPARATOR}and ${count} more` : "";
}

/**
 * What a rule waits for, in at most `max` characters; `by`: who says so. A command is never cut: where not everything fits, the
 * words beside the first command are left out; or else the commands.
 */
export function ruleMessage(
  rule: RuleTrace,
  message: string,
  { max, by = "" }: { readonly max: number; readonly by?: string },
): string {
  const withWords = (text: string): string => printable(afterWords(rule, `${by}${text}`));
  const fits = (text: string): boolean => truncate(text, max) === text;
  const whole = withWords(message);
  if (fits(whole)) return whole;
  const told = unmetGates(rule).filter(({ gate }) => message.includes(`gate ${gate} `));
  const commands = told.flatMap(({ gate, remedy, members = [] }) =>
    [remedy, ...members.map((member) => member.remedy)]
      .filter((command) => command !== undefined && message.includes(` (${command})`))
      .map((command) => ({ gate, command })),
  );
  const [first] = commands;
  const more = told.length > 1 ? `, and ${told.length - 1} more` : "";
  const brief = first && withWords(`gate ${first.gate} waits (${first.command})${more}`);
  if (brief !== undefined && fits(brief)) return brief;
  const text = commands.reduce((left, { command }) => left.replaceAll(` (${command})`, ""), message);
  return truncateText(withWords(text), max);
}

/** How many errors of one object are kept and told: more than fit into a condition. */
export const MAX_ERRORS = 32;

export function describeErrors(errors: readonly FieldError[]): string {
  const described = errors.slice(0, MAX_ERRORS).map(({ path, message }) => `${path}: ${message}`);
  return `${described.join(SEPARATOR)}${andMore(errors.length - described.length)}`;
}
