/** Writes docs/benchmarks.md, and the pages beside the results, from bench/results/. */

import { writeReport } from "./report.ts";

await writeReport();
