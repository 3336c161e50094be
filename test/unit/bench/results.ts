import type { PartResult, Row } from "../../../bench/result.ts";

export function result(rows: readonly Row[]): PartResult {
  return {
    part: "speed",
    command: "make bench PART=speed",
    date: "2026-01-02",
    machine: { cpu: "cpu", cores: 2, memoryGiB: 4, kernel: "6.1", versions: { node: "24.0.0" } },
    tables: [{ title: "Table", rows }],
    notes: [],
  };
}

export function row(parts: Partial<Row>): Row {
  return { id: "row", work: "work", goal: undefined, samples: [], unit: "× Go peer", ...parts };
}
