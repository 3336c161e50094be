/** What a part of the bench measured, as it is kept in bench/results/ and shown in docs/benchmarks.md. */

export type PartName = "speed" | "scale" | "rollouts" | "admission" | "faults" | "hostile" | "soak";

export interface PartResult {
  readonly part: PartName;
  /** What a reader types to get this again: "make bench PART=speed". */
  readonly command: string;
  /** RFC 3339, to the day. */
  readonly date: string;
  readonly machine: Machine;
  readonly tables: readonly Table[];
  /** Sentences (Markdown) below the tables: how it is measured, what falls short and why. */
  readonly notes: readonly string[];
}

export interface Machine {
  readonly cpu: string;
  readonly cores: number;
  readonly memoryGiB: number;
  readonly kernel: string;
  /** Name and version of everything that was measured or measured with: {"node": "24.21.0", "Go peer": "…"}. */
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
  /** Of the samples: "× Go peer", "ms", "MB", "calls". */
  readonly unit: string;
  /** What the reader should know of this row alone, such as the absolute figures behind a ratio. */
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

interface Rest {
  readonly unit: string;
  readonly goal?: Goal | undefined;
  readonly note?: string | undefined;
}

/** `samples`: one per round, or one number. */
export function row(
  id: string,
  work: string,
  samples: number | readonly number[],
  { unit, goal, note }: Rest,
): Row {
  const list = typeof samples === "number" ? [samples] : samples;
  return { id, work, goal, samples: list, unit, ...(note !== undefined && { note }) };
}
