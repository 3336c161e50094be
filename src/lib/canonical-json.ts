/** One text for all JSON values that are equal, however their keys are ordered. */

import { isFields } from "./fields.ts";

export function canonicalJson(value: unknown): string {
  return JSON.stringify(value, (_, part: unknown) => (isFields(part) ? sorted(part) : part));
}

function sorted(fields: object): object {
  return Object.fromEntries(Object.entries(fields).toSorted(([a], [b]) => (a < b ? -1 : 1)));
}
