/** Characters that look like spaces and quotes, which editors and web pages put in their place. */

import type { Mistake } from "./yaml-mistake.ts";

const SPACE = "[\\u00A0\\u2000-\\u200B\\u202F\\u3000\\uFEFF]";
/** YAML needs a space after a colon, and after the dash of an item. */
const INSTEAD_OF_SPACE = new RegExp(`[:-](${SPACE})`, "u");

/** Why a text is not YAML, if a character that looks like a space is the likely reason. */
export function whyUnreadable(text: string): Mistake | undefined {
  const found = INSTEAD_OF_SPACE.exec(text);
  if (found === null) return undefined;
  const message = `has ${nameOfSpace(found[1] ?? "")}, which is no space in YAML: write a space`;
  return { offset: found.index + 1, message };
}

/** Finds a character that only looks like a space or a quote; `undefined`: none. */
export function lookalike(text: string): string | undefined {
  const space = new RegExp(SPACE, "u").exec(text)?.[0];
  if (space !== undefined) return `${nameOfSpace(space)}: write a space`;
  return /[\u2018-\u201F]/.test(text) ? `curly quotes: write ' or "` : undefined;
}

function nameOfSpace(letter: string): string {
  const code = `U+${letter.charCodeAt(0).toString(16).toUpperCase().padStart(4, "0")}`;
  return letter === "\u00A0" ? `a no-break space (${code})` : `an invisible or wide space (${code})`;
}
