/** One small change of a policy. */

import { isFields } from "../../../lib/fields.ts";

/** Keys of maps and indexes of lists, from the object down. */
export type Path = readonly (string | number)[];

export interface Edit {
  readonly path: Path;
  /** Absent: removed. */
  readonly to?: unknown;
}

/** spec.rules[0].until[1], as the API server writes it. */
export function pathText(path: Path): string {
  return path
    .map((key) => {
      if (typeof key === "number") return `[${key}]`;
      return /^[A-Za-z]\w*$/.test(key) ? `.${key}` : `[${JSON.stringify(key)}]`;
    })
    .join("")
    .replace(/^\./, "");
}

/** A copy with the change. */
export function edited(value: unknown, { path: [key, ...rest], to }: Edit): unknown {
  if (key === undefined) return to;
  const isRemoved = rest.length === 0 && to === undefined;
  if (Array.isArray(value)) {
    const items: readonly unknown[] = value;
    return isRemoved
      ? items.filter((_, index) => index !== key)
      : items.map((item, index) => (index === key ? edited(item, { path: rest, to }) : item));
  }
  const fields = new Map(Object.entries(isFields(value) ? value : {}));
  if (isRemoved) fields.delete(String(key));
  else fields.set(String(key), edited(fields.get(String(key)), { path: rest, to }));
  return Object.fromEntries(fields);
}
