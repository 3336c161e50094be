/** The result of a part of the bench, which bench/results/ keeps and docs/benchmarks.md shows. */

export type PartName = "speed" | "scale" | "rollouts" | "admission" | "tasks" | "faults" | "hostile" | "soak";

export interface PartResult {
  readonly part: PartName;
  /** The command that measures it again: "make bench PART=speed". */
  readonly command: string;
  readonly date: string;
  readonly machine: Machine;
  readonly tables: readonly Table[];
  /** Sentences in Markdown: how it is measured, what falls short and why. */
  readonly notes: readonly string[];
}

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  /** Versions by program, of those that were measured and those that measured: {"node": "24.21.0", "Go peer": "…"}. */
  readonly versions: Readonly<Record<string, string>>;
}

export interface Table {
  readonly title: string;
  readonly rows: readonly Row[];
}

export interface Row {
  /** Stable: the regression gate compares rows of the same id. */
  readonly id: string;
  readonly work: string;
  readonly goal: Goal | undefined;
  /** One per round. */
  readonly samples: readonly number[];
  readonly unit: string;
  /** A remark on this row alone, such as the absolute figures behind a ratio. */
  readonly note?: string;
}

export interface Goal {
  readonly is: "at least" | "at most" | "below" | "exactly";
  readonly value: number;
}

export const atLeast = (value: number): Goal => ({ is: "at least", value });
export const atMost = (value: number): Goal => ({ is: "at most", value });
export const below = (value: number): Goal => ({ is: "below", value });
export const NONE: Goal = { is: "exactly", value: 0 };
/** For a row whose goal is that there are none of its unit. */
export const none = (unit: string): { unit: string; goal: Goal } => ({ unit, goal: NONE });

/** `samples`: one per round, or one number. */
export function row(
  id: string,
  work: string,
  samples: number | readonly number[],
  {
    unit,
    goal,
    note,
  }: Pick<Row, "unit"> & { readonly goal?: Goal | undefined; readonly note?: string | undefined },
): Row {
  return { id, work, goal, samples: [samples].flat(), unit, ...(note !== undefined && { note }) };
}

/** The rows of one size of a part: their ids begin with it. */
export function prefixed(prefix: string, rows: readonly Row[]): Row[] {
  return rows.map((each) => ({ ...each, id: `${prefix}-${each.id}` }));
}
