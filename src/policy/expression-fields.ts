/** Which texts of a spec are expressions, or have some, by the names of their fields. */

import { hasExpression } from "./tasks/template-text.ts";

/** Of gates and conditions; of tasks; and of their templates, in any field. */
export function isExpressionField(name: string, text: string): boolean {
  return /expression$|^(?:when|succeeded|failed)$/i.test(name) || hasExpression(text);
}
