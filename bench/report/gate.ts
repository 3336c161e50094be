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

/** Machines differ, and so do their neighbours; a mistake costs more than that. */
export const MARGIN = 0.6;

const rowsOf = ({ tables }: PartResult): readonly Row[] => tables.flatMap(({ rows }) => rows);

/** Compares the rows whose figures are ratios, which hold on other machines, too. More is better in all of them. */
export function compare(baseline: PartResult, measured: PartResult): Comparison[] {
  const now = new Map(rowsOf(measured).map((row) => [row.id, median(row.samples)]));
  const ratios = rowsOf(baseline).filter(({ unit }) => unit.startsWith("×"));
  return ratios.map(({ id, unit, samples }) => {
    const [before, after] = [median(samples), now.get(id)];
    const isWorse = !(after !== undefined && after >= before * MARGIN); // also where it is NaN
    return { id, unit, baseline: before, measured: after, isWorse };
  });
}
