/** Cluster API waits 10 seconds for an answer. A release that would come later must not come at all. */

import type { Confirmation } from "../policy/decision.ts";

/** Not confirmed after `budgetMs`, whatever the work finds out later. Infinity: no limit. */
export async function confirmedWithin(
  budgetMs: number,
  work: () => Promise<Confirmation>,
): Promise<Confirmation> {
  const timeout = Promise.withResolvers<Confirmation>();
  const timer = Number.isFinite(budgetMs)
    ? setTimeout(() => timeout.resolve({ ok: false, reason: "Timeout" }), budgetMs)
    : undefined;
  try {
    return await Promise.race([work(), timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
