/** Paths of fields as the API server writes them: spec.rules[0].hooks, metadata.labels[example.com/tier]; "" is the object itself. */

import { isFields } from "./fields.ts";

/** Keys of maps and indexes of lists, from the object down. */
export type Steps = readonly (string | number)[];

export function stepsOf(path: string): readonly string[] {
  return [...path.matchAll(/\[([^\]]*)\]?|[^.[\]]+/g)].map(([whole, inBrackets]) => inBrackets ?? whole);
}

/** The path of a field or item directly below, in brackets unless it could be the name of a field. */
export function pathBelow(path: string, step: string | number): string {
  if (!/^(?!\d+$)[-\w]+$/.test(String(step))) return `${path}[${step}]`;
  return path === "" ? String(step) : `${path}.${step}`;
}

export function valueAt(root: unknown, steps: Steps): unknown {
  let value = root;
  for (const step of steps) {
    if (Array.isArray(value)) value = value[Number(step)];
    else value = isFields(value) && Object.hasOwn(value, step) ? value[step] : undefined;
  }
  return value;
}

/** `path` and all its parents. */
export function withParents(path: string): string[] {
  return ["", ...[...path.matchAll(/[.[]/g)].map(({ index }) => path.slice(0, index)), path];
}

/** Whether `path` is `parent` or below it; everything is below "", the object itself. */
export function isWithin(path: string, parent: string): boolean {
  return parent === "" || path === parent || path.startsWith(`${parent}.`) || path.startsWith(`${parent}[`);
}
