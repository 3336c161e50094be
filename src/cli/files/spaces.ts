/** Characters that look like spaces and quotes, which editors and web pages put in their place. */

const SPACE = "[\\u00A0\\u2000-\\u200B\\u202F\\u3000\\uFEFF]";
/** Where YAML needs a space: after a colon, and after the dash of an item. */
const INSTEAD_OF_SPACE = new RegExp(`[:-](?<letter>${SPACE})`, "u");

/** Why a text is no YAML, if a space that is none is the likely reason. */
export function whyUnreadable(
  text: string,
): { readonly offset: number; readonly message: string } | undefined {
  const found = INSTEAD_OF_SPACE.exec(text);
  const letter = found?.groups?.["letter"];
  if (found === null || letter === undefined) return undefined;
  return {
    offset: found.index + 1,
    message: `has ${nameOfSpace(letter)}, which is no space in YAML: write a space`,
  };
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
