/** Reads fields of unchecked objects: a field that is missing or of another type is empty. */

import { type Fields, isFields } from "../../api/fields.ts";

export type { RawObject } from "../fleet/kinds.ts";

export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
