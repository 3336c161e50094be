/** `make bench-check`: measures the speed in a few minutes, and fails where a ratio is far below the committed one. */

import { compare, MARGIN } from "./report/gate.ts";
import { figure } from "./report/page.ts";
import { readResult } from "./report/report.ts";
import { CHECK, runSpeed } from "./speed/speed.ts";

const baseline = readResult("speed");
if (baseline === undefined) throw new Error("bench/results/speed.json is missing: run make bench PART=speed");
const measured = await runSpeed((line) => void process.stderr.write(`${line}\n`), CHECK);
const comparisons = compare(baseline, measured);
for (const { id, unit, baseline: before, measured: after, isWorse } of comparisons) {
  const now = after === undefined ? "not measured" : figure(after);
  process.stdout.write(`${isWorse ? "WORSE" : "ok   "}  ${id}: ${now} (${figure(before)}) ${unit}\n`);
}
if (comparisons.some(({ isWorse }) => isWorse)) {
  process.stdout.write(
    `A ratio is below ${MARGIN} of the one in bench/results/speed.json (in parentheses).\n`,
  );
  process.exitCode = 1;
}
