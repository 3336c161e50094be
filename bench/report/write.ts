/** Writes docs/benchmarks.md and the pages below it from bench/results/. */

import { writeReport } from "./report.ts";

await writeReport();
