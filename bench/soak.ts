/** `make soak`: MINUTES (60) of calls and churn; the result goes to bench/results/soak.json. */

import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { runSoak } from "./soak/soak.ts";

const RESULTS = join(import.meta.dirname, "results");

const quick = process.env["BENCH_QUICK"] === "1";
const minutes = Number(process.env["MINUTES"] ?? (quick ? 2 : 60));
if (!(minutes > 0)) throw new Error(`MINUTES is ${process.env["MINUTES"]}; allowed: a number above 0`);

const stop = new AbortController();
for (const name of ["SIGINT", "SIGTERM"] as const) process.once(name, () => stop.abort());

const progress = (line: string): void => {
  process.stdout.write(`${new Date().toISOString().slice(11, 19)} ${line}\n`);
};

try {
  const result = await runSoak(progress, { minutes, signal: stop.signal });
  await mkdir(RESULTS, { recursive: true });
  await writeFile(join(RESULTS, "soak.json"), `${JSON.stringify(result, undefined, 2)}\n`);
  for (const { id, samples, unit, note = "" } of result.tables.flatMap(({ rows }) => rows)) {
    progress(`${id}: ${samples.join(", ")} ${unit} ${note}`);
  }
} catch (error) {
  if (!stop.signal.aborted) throw error;
  progress("stopped before its time: no result");
  process.exitCode = 130;
}
