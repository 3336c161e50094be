/** A JSON or YAML object of unchecked shape. */
export type Fields = Readonly<Record<string, unknown>>;

/** Deeper values come only from hostile input, and code that walks through them recurses. */
export const MAX_DEPTH = 32;

export function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null && !Array.isArray(value);
}

/** No fields where there is no object. */
export function fieldsOf(value: unknown): Fields {
  return isFields(value) ? value : {};
}

/** No items where there is no list. */
export function listOf(value: unknown): readonly unknown[] {
  return Array.isArray(value) ? value : [];
}

/** The item of that name; no fields where there is none. */
export function named(list: unknown, name: string | undefined): Fields {
  return fieldsOf(listOf(list).find((item) => name !== undefined && fieldsOf(item)["name"] === name));
}

/** An empty text where there is no text. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}

/** `undefined` where there is no text, or an empty one. */
export function nonEmptyText(value: unknown): string | undefined {
  return typeof value === "string" && value !== "" ? value : undefined;
}

/** `undefined`: not JSON, which has no such value. */
export function parseJson(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch {
    return undefined;
  }
}

/**
 * The API server stores no null fields (apiextensions-apiserver: pkg/apiserver/schema/defaulting), and the schema has
 * none; a null item of a list stays.
 */
export function withoutNulls<T>(value: T): T;
export function withoutNulls(value: unknown): unknown {
  if (Array.isArray(value)) return value.map((item: unknown) => withoutNulls(item));
  if (!isFields(value)) return value;
  const fields = Object.entries(value).filter(([, field]) => field !== null);
  return Object.fromEntries(fields.map(([name, field]) => [name, withoutNulls(field)]));
}
