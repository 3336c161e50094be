/** The mistakes in YAML of which the parser's own words do not say what to type, or where. */

import type { YAMLError } from "yaml";

export interface Mistake {
  readonly offset: number;
  readonly message: string;
}

export const RENDER_FIRST = "render it first, as in helm template … | hookpolicy … -";

/** `undefined`: the message of the parser is the best one. */
export function mistakeOf({ code, pos: [offset], message }: YAMLError, text: string): Mistake | undefined {
  const start = text.lastIndexOf("\n", offset - 1) + 1;
  const [line = ""] = text.slice(start).split("\n", 1);
  const place = { text, offset, line, start };
  return conflict(text) ?? template(place) ?? BY_CODE[code]?.(place, message);
}

interface TextPlace {
  readonly text: string;
  readonly offset: number;
  readonly line: string;
  readonly start: number;
}

const BY_CODE: Readonly<Record<string, (place: TextPlace, message: string) => Mistake | undefined>> = {
  TAB_AS_INDENT: ({ line, start }) => ({
    offset: start + Math.max(line.indexOf("\t"), 0),
    message: "a tab indents this, and YAML takes spaces only: write spaces",
  }),
  MISSING_CHAR: missingLetter,
  UNEXPECTED_TOKEN: afterAlias,
  BAD_SCALAR_START: reserved,
  BAD_ALIAS: reserved,
  TAG_RESOLVE_FAILED: reserved,
  BAD_INDENT: ({ offset }) => ({ offset, message: ALIKE }),
  BLOCK_AS_IMPLICIT_KEY: ({ offset }) => ({
    offset,
    message: 'a text with ": " needs quotes; without one, the lines below are indented too far',
  }),
  MULTILINE_IMPLICIT_KEY: ({ offset }) => ({
    offset,
    message: "this is no field: write a colon and a space after its name",
  }),
};

const ALIKE = "the indentation does not fit: indent the items of a list, and the fields of an object, alike";

function conflict(text: string): Mistake | undefined {
  const offset = text.search(/^(?:<{7}|>{7}) /m);
  return offset < 0 ? undefined : { offset, message: "has the marks of a merge conflict: resolve it" };
}

/** The braces of a template, in the line where the parser stopped or at the start of any line. */
function template({ text, line, start }: TextPlace): Mistake | undefined {
  const within = line.indexOf("{{");
  const offset = within < 0 ? text.search(/^[ \t]*\{\{/m) : start + within;
  return offset < 0 ? undefined : { offset, message: `is a template: ${RENDER_FIRST}` };
}

function missingLetter({ text, offset }: TextPlace, parserMessage: string): Mistake | undefined {
  if (parserMessage.startsWith("Sequence item without -")) return { offset, message: ALIKE };
  // The parser reads on until the end of the file.
  const [, quote] = /^Missing closing (["'])/.exec(parserMessage) ?? [];
  if (quote === undefined) return undefined;
  const message = `the text has no closing quote: write ${quote} at its end`;
  return { offset: text.lastIndexOf(quote, offset - 1), message };
}

/** A schedule without quotes: YAML reads what begins with * as an alias. */
function afterAlias({ text, offset, line, start }: TextPlace): Mistake | undefined {
  const [before] = /^.*?(?:[:-]\s+|[[{,]\s*)(?=[*&!])/.exec(line.slice(0, offset - start)) ?? [];
  return before === undefined ? undefined : reserved({ text, offset: start + before.length });
}

function reserved({ text, offset }: Pick<TextPlace, "text" | "offset">): Mistake {
  const [tag] = /^!!?[A-Za-z][\w.:/-]*(?=\s)/.exec(text.slice(offset, offset + 200)) ?? [];
  const what =
    tag === undefined
      ? `no text begins with ${text.charAt(offset)} in YAML`
      : `${tag} is a YAML tag, which Kubernetes does not know`;
  return { offset, message: `${what}: put the value in quotes` };
}

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
