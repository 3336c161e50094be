/**
 * `make bench`: measures the parts that are named, or all; keeps the results in bench/results/ and writes
 * docs/benchmarks.md from them. With BENCH_QUICK=1 everything is small, and printed instead of kept.
 */

import { renderPart } from "./report/page.ts";
import { saveResult } from "./report/report.ts";
import type { PartResult } from "./result.ts";

type Run = (progress: (line: string) => void) => Promise<PartResult>;

const PARTS: Readonly<Record<string, () => Promise<Run>>> = {
  speed: async () => (await import("./speed/speed.ts")).runSpeed,
  scale: async () => (await import("./scale/scale.ts")).runScale,
  rollouts: async () => (await import("./rollouts/rollouts.ts")).runRollouts,
  admission: async () => (await import("./admission/admission.ts")).runAdmission,
  faults: async () => (await import("./faults/faults.ts")).runFaults,
  hostile: async () => (await import("./hostile/hostile.ts")).runHostile,
};

const named = process.argv.slice(2);
const unknown = named.filter((name) => !Object.hasOwn(PARTS, name));
if (unknown.length > 0) {
  throw new Error(`${unknown.join(", ")}: allowed is ${Object.keys(PARTS).join(", ")}`);
}

for (const name of named.length > 0 ? named : Object.keys(PARTS)) {
  const run = await PARTS[name]?.();
  const result = await run?.((line) => {
    process.stderr.write(`${new Date().toISOString().slice(11, 19)} ${name}: ${line}\n`);
  });
  if (result === undefined) continue;
  if (process.env["BENCH_QUICK"] === "1") process.stdout.write(renderPart(result));
  else await saveResult(result);
}
