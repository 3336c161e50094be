/** The common mistakes in YAML, in words that say what to type, and where. */

import { counted } from "../../lib/counted.ts";
import { Lexer, type YAMLError } from "yaml";

export interface Mistake {
  readonly offset: number;
  readonly message: string;
}

export const RENDER_FIRST = "render it first, as in helm template … | hookpolicy … -";

/** `undefined`: the message of the parser is the best one. */
export function mistakeOf({ code, pos: [offset], message }: YAMLError, text: string): Mistake | undefined {
  const place = { text, offset, line: lineAt(text, offset), start: startOf(text, offset) };
  return conflict(text) ?? template(place) ?? BY_CODE[code]?.(place, message);
}

interface TextPlace {
  readonly text: string;
  readonly offset: number;
  readonly line: string;
  readonly start: number;
}

type Explain = (place: TextPlace, message: string) => Mistake | undefined;

const BY_CODE: Readonly<Record<string, Explain>> = {
  TAB_AS_INDENT: tab,
  BAD_INDENT: (place, message) => unclosedBracket(place, message) ?? indentation(place),
  BLOCK_AS_IMPLICIT_KEY: (place) => noSpaceAfterDash(place) ?? afterQuote(place) ?? secondValue(place),
  BLOCK_IN_FLOW: noComma,
  MULTILINE_IMPLICIT_KEY: (place) => noColon(place) ?? indentation(place),
  MISSING_CHAR: (place, message) => {
    if (message.startsWith("Missing closing")) return unclosedQuote(place);
    if (message.startsWith("Missing ,")) return noComma(place);
    return noColon(place) ?? indentation(place);
  },
  UNEXPECTED_TOKEN: (place) =>
    afterQuote(place) ?? afterBlockSign(place) ?? surplusBracket(place) ?? afterAlias(place),
  BAD_SCALAR_START: reserved,
  BAD_ALIAS: reserved,
  TAG_RESOLVE_FAILED: reserved,
  BAD_DQ_ESCAPE: ({ text, offset }) => {
    const escape = text.slice(offset, offset + 2);
    return { offset, message: `${escape} is no escape in "…": write \\${escape}, or put the text in '…'` };
  },
};

function startOf(text: string, offset: number): number {
  return text.lastIndexOf("\n", offset - 1) + 1;
}

function lineAt(text: string, offset: number): string {
  const end = text.indexOf("\n", offset);
  return text.slice(startOf(text, offset), end < 0 ? undefined : end);
}

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

function tab({ text, offset, line, start }: TextPlace): Mistake {
  const ahead = text.indexOf("\t", offset);
  const at = ahead >= 0 && ahead < start + line.length ? ahead : start + Math.max(line.indexOf("\t"), 0);
  return { offset: at, message: "a tab indents this, and YAML takes spaces only: write spaces" };
}

function unclosedBracket({ text, offset }: TextPlace, message: string): Mistake | undefined {
  if (!message.startsWith("Flow ")) return undefined;
  const open = openBefore(text, offset);
  return (
    open && { offset: open.offset, message: `${open.source} is not closed: write ${CLOSING[open.source]}` }
  );
}

const CLOSING: Readonly<Record<string, string>> = { "[": "]", "{": "}" };

function surplusBracket({ text, offset }: TextPlace): Mistake | undefined {
  const letter = text.charAt(offset);
  return "]}".includes(letter) ? { offset, message: `${letter} closes nothing: remove it` } : undefined;
}

/** A line that begins in a column in which no field above begins. */
function indentation({ text, line, start }: TextPlace): Mistake | undefined {
  const indent = indentOf(line);
  const above = fieldsAbove(text.slice(0, start));
  const near = nearestField(above, indent);
  if (near === undefined || near.column === indent) return undefined;
  const { column, key } = near;
  return {
    offset: start + indent,
    message: `begins in column ${indent + 1}, where no field above does: ${indentedBy(column)}, as ${JSON.stringify(key)}`,
  };
}

function indentedBy(count: number): string {
  if (count === 0) return "do not indent it";
  return `indent it by ${counted(count, "space")}`;
}

function noSpaceAfterDash({ line, start }: TextPlace): Mistake | undefined {
  const found = /^\s*-(?=[A-Za-z"'])/.exec(line);
  return found === null
    ? undefined
    : { offset: start + found[0].length, message: "write a space after the dash" };
}

function noComma({ offset }: TextPlace): Mistake {
  return { offset, message: "items in [ ] and { } need a comma between them: write it before the next one" };
}

function noColon({ line, start }: TextPlace): Mistake | undefined {
  if (/:(?:\s|$)/.test(line)) return undefined;
  const [, before = "", word = "", colon] = /^([\s-]*)([^\s:]*)(:)?/.exec(line) ?? [];
  const offset = start + before.length;
  if (colon !== undefined)
    return { offset: offset + word.length + 1, message: "write a space after the colon" };
  const how = "write a colon and a space after its name, or indent the line if it belongs to the text above";
  return { offset, message: `expected a field: ${how}` };
}

/** A field that has a value and, in the next line or after another colon, a second one. */
function secondValue({ text, offset, line, start }: TextPlace): Mistake | undefined {
  const value = line.slice(offset - start);
  if (/^\s*-\s/.test(value)) {
    const message = "a list begins here, but the field above has a value: remove one of them";
    return { offset: offset + indentOf(value), message };
  }
  const colon = /:(?=\s|$)/.exec(value);
  if (colon !== null) {
    return {
      offset: offset + colon.index,
      message: "a colon with a space begins a field: put the text in quotes",
    };
  }
  const next = start + line.length + 1;
  const above = fieldsAbove(text.slice(0, next)).at(-1);
  if (above === undefined || next >= text.length) return undefined;
  return {
    offset: next + indentOf(lineAt(text, next)),
    message: `is indented deeper than ${JSON.stringify(above.key)}, which has a value: ${indentedBy(above.column)}`,
  };
}

function unclosedQuote({ text, offset }: TextPlace): Mistake | undefined {
  const open = quoteBefore(text, offset);
  if (open === undefined) return undefined;
  const quote = open.source.charAt(0);
  return { offset: open.offset, message: `the text has no closing quote: write ${quote} at its end` };
}

function afterQuote(place: TextPlace): Mistake | undefined {
  const { text, offset, line, start } = place;
  const open = quoteBefore(text, offset + 1);
  if (open === undefined || open.offset < start) return undefined;
  const from = open.offset - start;
  const quote = open.source.charAt(0);
  const end = from + open.source.length;
  const after = line.slice(end).trim();
  if (/^(?:$|[#:,\]}])/.test(after)) return undefined;
  if (/^[\w./-]+:\s/.test(after) && openBefore(text, offset) !== undefined) return noComma(place);
  const inner = after.endsWith(quote);
  const other = quote === "'" ? '"' : "'";
  const how = inner
    ? `write ${quote === "'" ? "''" : '\\"'} for a ${quote} within it, or put it in ${other}…${other}`
    : "put the whole value in quotes, or in the next line, after >-";
  return {
    offset: start + end - 1,
    message: `the text ends with this ${quote}, but the line does not: ${how}`,
  };
}

function afterBlockSign({ offset, line, start }: TextPlace): Mistake | undefined {
  const found = /:\s+([>|][-+]?)\s/.exec(line.slice(0, offset - start));
  if (found === null) return undefined;
  return { offset, message: `the text of ${found[1]} begins in the next line: move it there` };
}

/** A schedule without quotes: YAML reads what begins with * as an alias. */
function afterAlias({ text, offset, line, start }: TextPlace): Mistake | undefined {
  const [before] = /^.*?(?:[:-]\s+|[[{,]\s*)(?=[*&!])/.exec(line.slice(0, offset - start)) ?? [];
  return before === undefined ? undefined : reserved({ text, offset: start + before.length });
}

function reserved({ text, offset }: Pick<TextPlace, "text" | "offset">): Mistake {
  const [tag] = /^!!?[A-Za-z][\w.:/-]*(?=\s)/.exec(text.slice(offset, offset + 200)) ?? [];
  if (tag !== undefined) {
    const message = `${tag} is a YAML tag, which Kubernetes does not know: if the file is for another program, leave it out; if it begins a text, put that in quotes`;
    return { offset, message };
  }
  return { offset, message: `no text begins with ${text.charAt(offset)} in YAML: put the value in quotes` };
}

interface FieldColumn {
  readonly key: string;
  /** Counted from 0. */
  readonly column: number;
}

function indentOf(line: string): number {
  return line.length - line.trimStart().length;
}

/** The last field of each level that is still open at the end of a text, the outermost first. */
function fieldsAbove(text: string): readonly FieldColumn[] {
  let open: readonly FieldColumn[] = [];
  for (const line of text.split("\n")) {
    const [, indent = "", dashes = "", key] =
      /^( *)((?:- +)*)["']?([A-Za-z][\w./-]*)["']?:(?:\s|$)/.exec(line) ?? [];
    if (key === undefined) continue;
    const column = indent.length + dashes.length;
    // An item may stand below the name of its list.
    const kept = open.filter((each) => (dashes === "" ? each.column < column : each.column <= indent.length));
    open = [...kept, { key, column }];
  }
  return open;
}

/** The field nearest to the column in which a line begins; the inner one of two that are equally near. */
function nearestField(fields: readonly FieldColumn[], indent: number): FieldColumn | undefined {
  return fields.toSorted(
    (a, b) => Math.abs(a.column - indent) - Math.abs(b.column - indent) || b.column - a.column,
  )[0];
}

interface Token {
  readonly source: string;
  readonly offset: number;
}

/** Tokens of the lexer that stand for no letters: start of a document, error in brackets, start of a text. */
const MARKS: ReadonlySet<string> = new Set(["\u0002", "\u0018", "\u001F"]);

function* tokensBefore(text: string, end: number): IteratorObject<Token, undefined> {
  let offset = 0;
  for (const source of new Lexer().lex(text)) {
    if (MARKS.has(source)) continue;
    if (offset >= end) return;
    yield { source, offset };
    offset += source.length;
  }
}

function openBefore(text: string, end: number): Token | undefined {
  const open: Token[] = [];
  for (const token of tokensBefore(text, end)) {
    if (token.source === "[" || token.source === "{") open.push(token);
    else if (token.source === "]" || token.source === "}") open.pop();
  }
  return open.at(-1);
}

function quoteBefore(text: string, end: number): Token | undefined {
  return [...tokensBefore(text, end)].findLast(({ source }) => /^["']/.test(source));
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
