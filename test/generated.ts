/**
 * The size of generated tests: of a commit, a tenth of what FULL=1 runs. The seed is fixed, so that what a change breaks
 * is what the change did; another one is a change like any other. SEED=7 runs other cases.
 */

export const FULL = process.env["FULL"] === "1";
export const SEED = Number(process.env["SEED"] ?? 20_261_121);
const FEWEST = 50;

interface Size {
  readonly numRuns: number;
  readonly seed: number;
}

/** What fast-check takes, of a property that `full` cases show to hold. */
export function runs(full: number): Size {
  const numRuns = FULL ? full : Math.min(full, Math.max(FEWEST, Math.ceil(full / 10)));
  return { numRuns, seed: SEED };
}
