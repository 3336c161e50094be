/** `make bench-check`: measures the speed in a few minutes, and fails where a ratio is far below the committed one. */

import { compare, MARGIN } from "./report/gate.ts";
import { figure } from "./report/page.ts";
import { readResult } from "./report/report.ts";
import { CHECK, runSpeed } from "./speed/speed.ts";

const baseline = readResult("speed");
if (baseline === undefined) {
  throw new Error("bench/results/speed.json is missing: make it with make bench PART=speed");
}
const progress = (line: string): void => void process.stderr.write(`${line}\n`);
const comparisons = compare(baseline, await runSpeed(progress, CHECK));
for (const { id, unit, baseline: before, measured, isWorse } of comparisons) {
  const now = measured === undefined ? "not measured" : figure(measured);
  process.stdout.write(`${isWorse ? "WORSE" : "ok   "}  ${id}: ${now} (${figure(before)}) ${unit}\n`);
}
if (comparisons.some(({ isWorse }) => isWorse)) {
  process.stdout.write(
    `A ratio is below ${MARGIN} of the one in bench/results/speed.json (in parentheses).\n`,
  );
  process.exitCode = 1;
}
