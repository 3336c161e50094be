/** Adapts warnings about fields of `request` to the hooks of the rule, because each hook sends different fields. */

import { type HookName, VERSION_FIELDS } from "../../api/runtimehooks.ts";
import type { ExpressionWarning } from "../cel/expression.ts";

/** `undefined`: every hook of the rule sends the field, so that it is never missing. */
export function forHooks(
  warning: ExpressionWarning,
  hooks: readonly HookName[],
): ExpressionWarning | undefined {
  const { requestField: field } = warning;
  if (field === undefined) return warning;
  const lacking = hooks.filter((hook) => !sends(hook, field));
  if (lacking.length === 0) return undefined;
  const path = `request.${field}`;
  const names = lacking.join(", ");
  if (lacking.length === hooks.length) {
    const message = `${names} ${lacking.length === 1 ? "has" : "have"} no ${path}, so the rule cannot be evaluated: leave it out`;
    return { ...warning, id: "field-always-missing", message };
  }
  const message = `${path} is missing for ${names}, and then the rule cannot be evaluated: ask first, as in has(${path}) && …`;
  return { ...warning, message };
}

function sends(hook: HookName, field: string): boolean {
  const fields: readonly string[] = VERSION_FIELDS[hook];
  return field === "targetVersion" ? fields.length > 0 : fields.includes(field);
}
