/** In which order Clusters begin, as far as their labels say. */

import { type Labels, lookup } from "../policy/selector.ts";

/** Smaller integers first; what is no integer comes last. 15 digits: every such number is exact. */
export function orderOf(labels: Labels, orderLabelKey: string | undefined): number {
  if (orderLabelKey === undefined) return 0;
  const label = lookup(labels, orderLabelKey);
  return label !== undefined && /^-?\d{1,15}$/.test(label) ? Number(label) : Infinity;
}

/** For a sort. */
export function compareOrder(a: number, b: number): number {
  return a === b ? 0 : a - b;
}
