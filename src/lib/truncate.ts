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

/** How a command begins that is printed to be pasted, after what it does. */
const COMMANDS = [" (kubectl ", " (hookpolicy "];

/**
 * Where a command begins that is not over before `end`. Each character is read once: authors of policies write the text. The
 * quotes are those of shellQuote().
 */
function commandAround(text: string, end: number): number | undefined {
  let begin: number | undefined;
  let quote: "'" | "$'" | undefined;
  for (let at = 0; at < end; at++) {
    const char = text[at];
    if (begin === undefined) {
      if (char === " " && COMMANDS.some((command) => text.startsWith(command, at))) begin = at;
    } else if (char === "\\" && quote !== "'") at++;
    else if (quote !== undefined) quote = char === "'" ? undefined : quote;
    else if (text.startsWith("$'", at)) {
      quote = "$'";
      at++;
    } else if (char === "'") quote = "'";
    else if (char === ")") begin = undefined;
  }
  return begin;
}

/** `cut`: the truncated text. A part of a command can do something else, so a command is left out instead. */
function withoutPartOfCommand(text: string, cut: string): string {
  const begin = cut === text ? undefined : commandAround(text, cut.length - 1);
  return begin === undefined ? cut : `${text.slice(0, begin)}…`;
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
