/**
 * `make bench` and `make soak`: measures the named parts, or all but the soak, keeps the results in bench/results/ and
 * writes docs/benchmarks.md from them. With BENCH_QUICK=1 each part is small, and is printed instead of kept.
 */

import { runAdmission } from "./admission/admission.ts";
import { runFaults } from "./faults/faults.ts";
import { runHostile } from "./hostile/hostile.ts";
import { type Progress, QUICK } from "./part.ts";
import { renderPart } from "./report/page.ts";
import { isPart, PART_NAMES } from "./report/parts.ts";
import { saveResult } from "./report/report.ts";
import type { PartName, PartResult } from "./result.ts";
import { runRollouts } from "./rollouts/rollouts.ts";
import { runScale } from "./scale/scale.ts";
import { runSoak } from "./soak/soak.ts";
import { runTasks } from "./tasks/tasks.ts";
import { runSpeed } from "./speed/speed.ts";

const RUNS: Readonly<Record<PartName, (progress: Progress) => Promise<PartResult>>> = {
  speed: runSpeed,
  scale: runScale,
  rollouts: runRollouts,
  admission: runAdmission,
  tasks: runTasks,
  faults: runFaults,
  hostile: runHostile,
  soak: runSoak,
};

const named = process.argv.slice(2);
const unknown = named.filter((name) => !isPart(name));
if (unknown.length > 0) throw new Error(`${unknown.join(", ")}: allowed is ${PART_NAMES.join(", ")}`);

const all = PART_NAMES.filter((name) => name !== "soak");
for (const name of named.length > 0 ? named.filter(isPart) : all) {
  const result = await RUNS[name]((line) => {
    process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${name}: ${line}\n`);
  });
  if (QUICK) process.stdout.write(renderPart(result));
  else await saveResult(result);
}
