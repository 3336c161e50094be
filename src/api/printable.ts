/** Text as it leaves the program: to a terminal, a log, an Event, a condition. */

/**
 * What a terminal obeys, hides or reorders: control characters (C0, DEL, C1), format characters (of direction, without
 * width, tags), line and paragraph separators, and half surrogate pairs.
 */
const UNPRINTABLE = /[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu;

/**
 * `text` on one line, with every unprintable character as JSON escapes it: nothing is lost, and JSON keeps its meaning.
 * Idempotent, since a text takes several exits on its way: a status that carries a stored message must not grow. So two
 * texts can look alike if one of them holds a backslash, which no name and no key in Kubernetes does.
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
