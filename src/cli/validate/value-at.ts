/** Reads the value at a path, such as spec.rules[0].hooks or metadata.labels[example.com/tier] of a FieldError. */

import { isFields } from "../../lib/fields.ts";

export function stepsOf(path: string): readonly string[] {
  return [...path.matchAll(/\[([^\]]*)\]|[^.[\]]+/g)].map(([whole, inBrackets]) => inBrackets ?? whole);
}

export function valueAt(root: unknown, steps: readonly (string | number)[]): unknown {
  let value = root;
  for (const step of steps) {
    if (Array.isArray(value)) value = value[Number(step)];
    else value = isFields(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value;
}
