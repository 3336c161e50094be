/** What parsers find in a file: documents that know where they stand, and what is wrong with it. */

/** 1-based. */
export interface Position {
  readonly line: number;
  readonly column: number;
}

export interface FileProblem {
  readonly file: string;
  readonly line?: number;
  readonly column?: number;
  readonly message: string;
}

/** A document of a file: what it holds, and where. */
export interface ParsedDocument {
  readonly document: number;
  readonly value: unknown;
  position(path: string, of: "key" | "value"): Position;
}

export interface Parsed {
  readonly documents: readonly ParsedDocument[];
  readonly problems: readonly Omit<FileProblem, "file">[];
}
