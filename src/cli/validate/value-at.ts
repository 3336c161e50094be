/** Reads the value at a path, and the path of an error: such as spec.rules[0].hooks or metadata.labels[example.com/tier] of a FieldError. */

import type { ErrorObject } from "ajv";
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

export function keysOf(instancePath: string): readonly string[] {
  return instancePath
    .split("/")
    .slice(1)
    .map((key) => key.replaceAll("~1", "/").replaceAll("~0", "~"));
}

/** Below the object that was validated: begins with a dot or a bracket. */
export function pathOf({ instancePath, keyword, params }: ErrorObject): string {
  const field: unknown = params["missingProperty"] ?? params["additionalProperty"];
  const isOfField = typeof field === "string" && keyword !== "dependencies";
  const keys = [...keysOf(instancePath), ...(isOfField ? [field] : [])];
  return keys.map((key) => (/^(?!\d+$)[-\w]+$/.test(key) ? `.${key}` : `[${key}]`)).join("");
}
