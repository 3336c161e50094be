/** A value as messages about it say it. */

/** In characters. */
export const MAX_QUOTED = 64;

/** Leaves out the contents of lists and objects, and never throws for any value. */
export function found(value: unknown): string {
  if (value === null) return "null";
  if (Array.isArray(value)) return "a list";
  if (typeof value === "string") return quote(value);
  if (typeof value === "object") return "an object";
  return typeof value === "number" || typeof value === "boolean"
    ? `the ${typeof value} ${value}`
    : typeof value;
}

/** Cuts between code points, so that a message stays valid Unicode. A code point has at most two units. */
function quote(text: string): string {
  const letters = Array.from(text.slice(0, 2 * MAX_QUOTED + 1));
  return JSON.stringify(letters.length > MAX_QUOTED ? `${letters.slice(0, MAX_QUOTED).join("")}…` : text);
}
