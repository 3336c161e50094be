/** Which test files and tests took longest. */

import { relative } from "node:path";
import type { TestEvent } from "node:test/reporters";

const SHOWN = 10;

interface TestTime {
  readonly name: string;
  readonly ms: number;
}

export function* slowest(events: Iterable<TestEvent>): Generator<string> {
  const tests: TestTime[] = [];
  /** The tests of a file, added up. */
  const sums = new Map<string, number>();
  /** Whole processes of one file, hooks and imports included. */
  const processes = new Map<string, number>();
  for (const { type, data } of events) {
    if (type === "test:summary" && data.file !== undefined) processes.set(data.file, data.duration_ms);
    if (type !== "test:pass" && type !== "test:fail") continue;
    const { file = "", name, nesting, details } = data;
    const ms = details.duration_ms;
    if (nesting === 0) sums.set(file, (sums.get(file) ?? 0) + ms);
    if (details.type !== "suite") tests.push({ name: `${pathOf(file)}: ${name}`, ms });
  }
  const files = [...sums].map(([file, ms]) => ({ name: pathOf(file), ms: processes.get(file) ?? ms }));
  yield `\nTook longest:\n${table(files)}\n\n${table(tests)}\n`;
}

function pathOf(file: string): string {
  return relative(process.cwd(), file);
}

function table(timed: readonly TestTime[]): string {
  return timed
    .toSorted((a, b) => b.ms - a.ms)
    .slice(0, SHOWN)
    .map(({ name, ms }) => `${(ms / 1000).toFixed(1).padStart(8)} s  ${name}`)
    .join("\n");
}
