/** Texts of a template, in which `<< … >>` is an expression, and everything else is used as it is. */

export interface TextExpression {
  readonly source: string;
  /** Letters before it. */
  readonly offset: number;
}

export type TextPart = string | TextExpression;

type TemplateText =
  | { readonly ok: true; readonly parts: readonly TextPart[] }
  | { readonly ok: false; readonly message: string; readonly offset: number };

const [OPEN, CLOSE] = ["<<", ">>"];

/** Texts of CEL, in which >> ends nothing, and comments, whose quotes begin nothing. */
const SKIPPED =
  /[rR](?:"""[^]*?"""|'''[^]*?'''|"(?!"")[^"\n]*"|'(?!'')[^'\n]*')|"""(?:\\[^]|[^\\])*?"""|'''(?:\\[^]|[^\\])*?'''|"(?!"")(?:\\.|[^"\\\n])*"|'(?!'')(?:\\.|[^'\\\n])*'|\/\/(?:(?!>>)[^\n])*/y;

export function hasExpression(text: string): boolean {
  return text.includes(OPEN);
}

/** Whether the text of a field is an expression, or has some: of gates and conditions; of tasks; and of their templates. */
export function isExpressionField(name: string, text: string): boolean {
  return /expression$|^(?:when|succeeded|failed)$/i.test(name) || hasExpression(text);
}

export function parseText(text: string): TemplateText {
  const parts: TextPart[] = [];
  let from = 0;
  for (let open = text.indexOf(OPEN); open >= 0; open = text.indexOf(OPEN, from)) {
    const end = endOf(text, open + OPEN.length);
    if (end === undefined) return { ok: false, message: NOT_CLOSED, offset: open };
    const source = text.slice(open + OPEN.length, end);
    if (source.trim() === "") return { ok: false, message: EMPTY, offset: open };
    if (open > from) parts.push(text.slice(from, open));
    parts.push({ source, offset: open + OPEN.length });
    from = end + CLOSE.length;
  }
  if (from < text.length) parts.push(text.slice(from));
  return { ok: true, parts };
}

const NOT_CLOSED =
  "<< begins an expression that no >> ends, or in which a quote is not closed. For the two letters themselves, write << '<<' >>";
const EMPTY = "<< >> has no expression. Write CEL in it, such as << cluster.metadata.name >>";

/** Authors of policies write the text. A quote that is not closed ends the search: each look for its end may read the whole rest. */
function endOf(text: string, start: number): number | undefined {
  for (let at = start; at < text.length; at++) {
    if (text.startsWith(CLOSE, at)) return at;
    SKIPPED.lastIndex = at;
    if (SKIPPED.test(text)) at = SKIPPED.lastIndex - 1;
    else if (text[at] === '"' || text[at] === "'") return undefined;
  }
  return undefined;
}
