/** Small changes of a CEL expression: another operator, another value. */

/** Matches comments and texts as a whole, so that nothing within them counts as an operator. */
const TOKEN =
  /(?<comment>\/\/[^\n]*)|(?<text>[rRbB]{0,2}(?:"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\\n])*"|'(?:\\.|[^'\\\n])*'))|(?<operator>&&|\|\||[=!<>]=|[<>])|(?<word>[A-Za-z_]\w*)|(?<number>\d+(?:\.\d+)?)/g;

const TURNED: Readonly<Record<string, string>> = {
  "&&": "||",
  "||": "&&",
  "==": "!=",
  "!=": "==",
  "<": "<=",
  "<=": "<",
  ">": ">=",
  ">=": ">",
  true: "false",
  false: "true",
  all: "exists",
  exists: "all",
};

/** The arguments of these functions have a format, and any other text would be an error, which every suite notices. */
const FORMATTED = /\b(?:duration|timestamp|semver|matches|quantity)\(\s*$/;

export function* changedExpressions(expression: string): Generator<string> {
  for (const match of expression.matchAll(TOKEN)) {
    const [token] = match;
    const before = expression.slice(0, match.index);
    const replacement = replacementOf(token, match.groups ?? {}, before);
    if (replacement !== undefined)
      yield `${before}${replacement}${expression.slice(match.index + token.length)}`;
  }
}

type Groups = Readonly<Record<string, string | undefined>>;

function replacementOf(token: string, { comment, text, number }: Groups, before: string): string | undefined {
  if (comment !== undefined) return undefined;
  if (text !== undefined) return FORMATTED.test(before) ? undefined : changedText(token);
  if (number !== undefined) return number.includes(".") ? undefined : String(Number(number) + 1);
  return TURNED[token];
}

/** 'Available' becomes 'Available-x'. */
function changedText(token: string): string {
  const quotes = /(?:"""|'''|["'])$/.exec(token)?.[0] ?? "";
  return `${token.slice(0, token.length - quotes.length)}-x${quotes}`;
}
