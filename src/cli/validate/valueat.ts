/** Paths as in FieldError, such as spec.rules[0].hooks and metadata.labels[example.com/tier]. */

import { isFields } from "../../api/fields.ts";

/** The fields, indexes and keys of a path. */
export function stepsOf(path: string): readonly string[] {
  return [...path.matchAll(/\[([^\]]*)\]|[^.[\]]+/g)].map(([whole, inBrackets]) => inBrackets ?? whole);
}

export function valueAt(root: unknown, path: string): unknown {
  let value = root;
  for (const step of stepsOf(path)) {
    if (Array.isArray(value)) value = value[Number(step)];
    else value = isFields(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value;
}
