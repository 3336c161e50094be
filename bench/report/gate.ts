/** Whether a ratio has become far worse than the one that is committed. */

import type { PartResult, Row } from "../result.ts";
import { median } from "../measure/statistics.ts";

export interface Comparison {
  readonly id: string;
  readonly unit: string;
  readonly baseline: number;
  /** `undefined`: not measured. */
  readonly measured: number | undefined;
  readonly isWorse: boolean;
}

/** Machines and their neighbours differ; what is lost by a mistake is more than that. */
export const MARGIN = 0.6;

/** Of rows whose figures are ratios: those hold on other machines, too. More is better in all of them. */
export function compare(baseline: PartResult, measured: PartResult): Comparison[] {
  const now = new Map(rowsOf(measured).map((row) => [row.id, median(row.samples)]));
  return rowsOf(baseline)
    .filter(({ unit }) => unit.startsWith("×"))
    .map(({ id, unit, samples }) => {
      const [before, after] = [median(samples), now.get(id)];
      // A figure that is no number is none.
      const isWorse = !(after !== undefined && after >= before * MARGIN);
      return { id, unit, baseline: before, measured: after, isWorse };
    });
}

function rowsOf({ tables }: PartResult): readonly Row[] {
  return tables.flatMap(({ rows }) => rows);
}
