/** A field of an unchecked object as text: empty where it is missing or of another type. */
export function textOf(value: unknown): string {
  return typeof value === "string" ? value : "";
}
