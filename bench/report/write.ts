/** Writes docs/benchmarks.md and its plots from bench/results/, after one of these came about elsewhere. */

import { writeReport } from "./report.ts";

await writeReport();
