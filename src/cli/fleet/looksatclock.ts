import { isFields } from "../../api/fields.ts";
import { policyKind, type RawObject } from "./kinds.ts";

/** Any expression that contains the word counts: too often is better than too rarely. */
export function looksAtClock(objects: readonly RawObject[]): boolean {
  return objects.some((object) => policyKind(object) !== undefined && hasNow(object["spec"]));
}

const EXPRESSIONS = new Set(["expression", "nameExpression"]);

function hasNow(value: unknown): boolean {
  if (Array.isArray(value)) return value.some(hasNow);
  if (!isFields(value)) return false;
  return Object.entries(value).some(([key, field]) =>
    typeof field === "string" ? EXPRESSIONS.has(key) && /\bnow\b/.test(field) : hasNow(field),
  );
}
