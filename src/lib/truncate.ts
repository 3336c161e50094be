/** Shortens texts to a number of bytes or characters, with an ellipsis, and never within a character. */

const encoder = new TextEncoder();

/** In UTF-8. */
export function byteLength(text: string): number {
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

/** A command that is printed to be pasted, after what it does: see shellQuote(). */
const COMMAND = / \((?:kubectl|hookpolicy) (?:\\.|\$'(?:\\.|[^'\\])*'|'[^']*'|[^'\\)])*\)/gu;

/** `cut`: the truncated text. A part of a command can do something else, so a command is left out instead. */
function withoutPartOfCommand(text: string, cut: string): string {
  const kept = cut.length - 1;
  if (cut === text) return text;
  for (const { index, 0: command } of text.matchAll(COMMAND))
    if (index < kept && kept < index + command.length) return `${text.slice(0, index)}…`;
  return cut;
}

/** truncate() for a text with commands, none of which is cut. */
export function truncateText(text: string, max: number): string {
  return withoutPartOfCommand(text, truncate(text, max));
}

/** truncateBytes() for a text with commands, none of which is cut. */
export function truncateTextBytes(text: string, max: number): string {
  return withoutPartOfCommand(text, truncateBytes(text, max));
}

/** Keeps the last characters, to a number of code points. */
export function truncateStart(text: string, max: number): string {
  const points = Array.from(text);
  return points.length <= max ? text : `…${points.slice(1 - max).join("")}`;
}
