/** The order in which Clusters begin, by their labels. */

import { type Labels, lookup } from "../policy/selector.ts";

/** Smaller integers come first, anything else last. Up to 15 digits, every integer is exact. */
export function orderOf(labels: Labels, orderLabelKey: string | undefined): number {
  if (orderLabelKey === undefined) return 0;
  const label = lookup(labels, orderLabelKey);
  return label !== undefined && /^-?\d{1,15}$/.test(label) ? Number(label) : Infinity;
}

/** Infinity - Infinity is not a number. */
export function compareOrder(a: number, b: number): number {
  return a === b ? 0 : a - b;
}
