/** Makes text printable before it leaves the program: to a terminal, a log, an Event, a condition. */

/**
 * Characters that a terminal interprets, hides or reorders: control characters (C0, DEL, C1), format characters
 * (direction, zero width, tags), line and paragraph separators, and lone surrogates.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * Returns `text` on one line, with every unprintable character escaped as in JSON. Idempotent, because a text can pass
 * several outputs. Two texts can look alike if one contains a backslash, which no name or key in Kubernetes does.
 */
export function printable(text: string): string {
  return replaceUnprintable(text, escapeCharacter);
}

export function isPrintable(text: string): boolean {
  return text.search(UNPRINTABLE) < 0;
}

export function replaceUnprintable(text: string, replace: (character: string) => string): string {
  return text.replaceAll(UNPRINTABLE, (character) => replace(character));
}

function escapeCharacter(character: string): string {
  if (character === "\n") return String.raw`\n`;
  if (character === "\t") return String.raw`\t`;
  return Array.from({ length: character.length }, (_, index) => {
    const hex = character.charCodeAt(index).toString(16);
    return String.raw`\u${hex.padStart(4, "0")}`;
  }).join("");
}
