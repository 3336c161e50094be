/** Which parts of `a && b` are false: for explanations, outside of the metered decision. */

import { compileExpression, type ExpressionUse } from "./expression.ts";
import { callOf, parseExpression } from "./syntax.ts";
import type { ExpressionVariables } from "./view.ts";

/**
 * The parts as their author wrote them; the whole expression, if it has no parts. A part without a result is none: what is
 * false decides whatever the others give.
 */
export function falseParts(
  source: string,
  use: ExpressionUse,
  variables: ExpressionVariables,
): readonly string[] {
  return conjunctsOf(source).filter((part) => {
    const result = compileExpression(part, use).expression?.evaluate(variables);
    return result?.ok === true && result.value === false;
  });
}

/** Never none. */
function conjunctsOf(source: string): readonly string[] {
  const text = source.trim();
  const parsed = parseExpression(text);
  if (!parsed.ok || callOf(parsed.root, "_&&_") === undefined) return [text];
  const parts = splitAtTop(text);
  const isSplit = parts.every((part) => parseExpression(part).ok);
  if (parts.length > 1) return isSplit ? parts.flatMap(conjunctsOf) : [text];
  return text.startsWith("(") && text.endsWith(")") ? conjunctsOf(text.slice(1, -1)) : [text];
}

/** Texts, comments, && and brackets. A text that is not understood gives a part that is no expression. */
const TOKENS = /"""[^]*?"""|'''[^]*?'''|"(?:\\.|[^"\\])*"|'(?:\\.|[^'\\])*'|\/\/[^\n]*|&&|[([{]|[)\]}]/g;

/** At every && outside of brackets: nothing that binds less is there, as && is the outermost operator. */
function splitAtTop(text: string): readonly string[] {
  const parts: string[] = [];
  let [depth, start] = [0, 0];
  for (const { 0: token, index } of text.matchAll(TOKENS)) {
    if ("([{".includes(token)) depth += 1;
    else if (")]}".includes(token)) depth -= 1;
    else if (token === "&&" && depth === 0) {
      parts.push(text.slice(start, index));
      start = index + token.length;
    }
  }
  return [...parts, text.slice(start)];
}
