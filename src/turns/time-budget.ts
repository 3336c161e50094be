/** Cluster API waits 10 seconds for an answer. A release that would come later must not come at all. */

/** The result is `late` after `budgetMs`, whatever the work finds out later. Infinity: no limit. */
export async function withinBudget<T>(budgetMs: number, late: T, work: () => Promise<T>): Promise<T> {
  const timeout = Promise.withResolvers<T>();
  const timer = Number.isFinite(budgetMs) ? setTimeout(() => timeout.resolve(late), budgetMs) : undefined;
  try {
    return await Promise.race([work(), timeout.promise]);
  } finally {
    clearTimeout(timer);
  }
}
