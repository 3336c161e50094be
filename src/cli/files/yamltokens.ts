/** The brackets and quotes of a YAML text that cannot be parsed. */

import { Lexer } from "yaml";

export interface Token {
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

/** The innermost bracket that is open at `end`. */
export function openBefore(text: string, end: number): Token | undefined {
  const open: Token[] = [];
  for (const token of tokensBefore(text, end)) {
    if (token.source === "[" || token.source === "{") open.push(token);
    else if (token.source === "]" || token.source === "}") open.pop();
  }
  return open.at(-1);
}

/** The last text in quotes that begins before `end`. */
export function quoteBefore(text: string, end: number): Token | undefined {
  return [...tokensBefore(text, end)].findLast(({ source }) => /^["']/.test(source));
}
