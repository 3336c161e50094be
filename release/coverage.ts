/**
 * `node release/coverage.ts`: lines and branches that the tests without a control plane have run, by folder, from
 * coverage/lcov.info. Where decisions are made hardly anything may be left out.
 */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const FOLDER = join(import.meta.dirname, "../coverage");
const WANTED_PERCENT = 95;
/** The types, the decision, and what follows from it: nothing there reads, writes or asks the clock by itself. */
const PURE: ReadonlySet<string> = new Set([
  "src/api",
  "src/lib",
  "src/memory",
  "src/operations",
  "src/policy",
  "src/policy/cel",
  "src/policy/gates",
  "src/policy/validation",
  "src/policy/window",
  "src/decisions",
  "src/rollouts",
  "src/status",
  "src/turns",
]);

const CORE = "the pure core";

export interface Coverage {
  readonly folder: string;
  /** Per cent, to one place. */
  readonly lines: number;
  readonly branches: number;
}

/** Of an lcov tracefile, whose paths begin at the repository: by folder, and of the pure core together. */
export function coverageOf(lcov: string): Coverage[] {
  const counts = new Map<string, Map<string, number>>([[CORE, new Map()]]);
  let folders: string[] = [];
  for (const line of lcov.split("\n")) {
    const [, field = "", value = ""] = /^(SF|LF|LH|BRF|BRH):(.*)$/.exec(line) ?? [];
    if (field === "SF") {
      const folder = value.slice(0, value.lastIndexOf("/"));
      folders = PURE.has(folder) ? [folder, CORE] : [folder];
      continue;
    }
    for (const folder of field === "" ? [] : folders) {
      const count = counts.get(folder) ?? new Map<string, number>();
      counts.set(folder, count.set(field, (count.get(field) ?? 0) + Number(value)));
    }
  }
  return [...counts]
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
    .map(([folder, count]) => ({
      folder,
      lines: percent(count.get("LH"), count.get("LF")),
      branches: percent(count.get("BRH"), count.get("BRF")),
    }));
}

function percent(hit = 0, found = 0): number {
  return found === 0 ? 100 : Math.floor((1000 * hit) / found) / 10;
}

/** What is wrong: too much of the pure core that no test runs. */
export function uncovered(coverage: readonly Coverage[]): string[] {
  return coverage
    .filter(({ folder, lines, branches }) => folder === CORE && Math.min(lines, branches) < WANTED_PERCENT)
    .map(({ folder, lines, branches }) => `${folder}: ${lines} % of lines, ${branches} % of branches`);
}

function table(coverage: readonly Coverage[]): string {
  const row = ({ folder, lines, branches }: Coverage): string =>
    `${folder.padEnd(24)}${lines.toFixed(1).padStart(8)}${branches.toFixed(1).padStart(10)}${PURE.has(folder) ? "  pure" : ""}`;
  return [
    `${"folder".padEnd(24)}${"lines %".padStart(8)}${"branches %".padStart(10)}`,
    ...coverage.map(row),
  ].join("\n");
}

if (import.meta.main) {
  const coverage = coverageOf(readFileSync(join(FOLDER, "lcov.info"), "utf8"));
  if (coverage.length === 1) throw new Error("coverage/lcov.info is empty: run make test-unit");
  writeFileSync(join(FOLDER, "summary.json"), `${JSON.stringify(coverage, undefined, 2)}\n`);
  process.stdout.write(`${table(coverage)}\n`);
  const missing = uncovered(coverage);
  if (missing.length > 0) {
    process.stdout.write(`${[`Less than ${WANTED_PERCENT} %:`, ...missing].join("\n  ")}\n`);
    process.exitCode = 1;
  }
}
