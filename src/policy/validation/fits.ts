/** Whether a value has the form that a schema wants: its types and fields, not its words, numbers and rules. */

import type { CrdSchema } from "../../api/crd-schema.ts";
import { isFields } from "../../lib/fields.ts";

export function fits(schema: CrdSchema, value: unknown): boolean {
  const { type, items, required = [] } = schema;
  if (Array.isArray(value))
    return type === "array" && (items === undefined || value.every((item) => fits(items, item)));
  if (isFields(value)) {
    if (type !== "object" || !required.every((field) => Object.hasOwn(value, field))) return false;
    return Object.entries(value).every(([key, field]) => fitsField(schema, key, field));
  }
  const is = Number.isInteger(value) ? "integer" : typeof value;
  return typeof type === "string" ? type === is : type.some((each) => each === is);
}

function fitsField(schema: CrdSchema, key: string, value: unknown): boolean {
  const { properties = {}, additionalProperties } = schema;
  const field = Object.hasOwn(properties, key) ? properties[key] : additionalProperties;
  return field === undefined ? schema["x-kubernetes-preserve-unknown-fields"] === true : fits(field, value);
}
