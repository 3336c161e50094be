/**
 * `make bench` and `make soak`: measures the parts that are named, or all but the soak; keeps the results in
 * bench/results/ and writes docs/benchmarks.md from them. With BENCH_QUICK=1 everything is small, and printed instead of
 * kept.
 */

import { type Progress, QUICK } from "./part.ts";
import { renderPart } from "./report/page.ts";
import { saveResult } from "./report/report.ts";
import type { PartName, PartResult } from "./result.ts";

type Run = (progress: Progress) => Promise<PartResult>;

const PARTS: Readonly<Record<PartName, () => Promise<Run>>> = {
  speed: async () => (await import("./speed/speed.ts")).runSpeed,
  scale: async () => (await import("./scale/scale.ts")).runScale,
  rollouts: async () => (await import("./rollouts/rollouts.ts")).runRollouts,
  admission: async () => (await import("./admission/admission.ts")).runAdmission,
  faults: async () => (await import("./faults/faults.ts")).runFaults,
  hostile: async () => (await import("./hostile/hostile.ts")).runHostile,
  soak: async () => (await import("./soak/soak.ts")).runSoak,
};

const isPart = (name: string): name is PartName => Object.hasOwn(PARTS, name);

const named = process.argv.slice(2);
const unknown = named.filter((name) => !isPart(name));
if (unknown.length > 0) {
  throw new Error(`${unknown.join(", ")}: allowed is ${Object.keys(PARTS).join(", ")}`);
}

const all = Object.keys(PARTS).filter((name) => name !== "soak");
for (const name of (named.length > 0 ? named : all).filter(isPart)) {
  const run = await PARTS[name]();
  const result = await run((line) => {
    process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${name}: ${line}\n`);
  });
  if (QUICK) process.stdout.write(renderPart(result));
  else await saveResult(result);
}
