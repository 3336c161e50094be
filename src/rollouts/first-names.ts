import type { ObjectMeta } from "../api/meta.ts";

/** The first three names, and how many more there are. */
export function firstNames(all: readonly Pick<ObjectMeta, "namespace" | "name">[]): string {
  const named = all.slice(0, 3).map(({ namespace, name }) => `${namespace}/${name}`);
  const more = all.length > 3 ? ` and ${all.length - 3} more` : "";
  return `${named.join(", ")}${more}`;
}
