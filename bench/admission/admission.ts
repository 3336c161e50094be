/** The webhook of Clusters: what a refusal and a confirmed passage take, and that other updates do not reach the operator. */

import { describeMachine, today } from "../machine.ts";
import type { PartResult } from "../result.ts";
import { type AdmissionSize, measureAdmission } from "./measure.ts";
import { notesOf, tableOf } from "./report.ts";

const FULL: AdmissionSize = { clusters: 1000, requests: 1000, updates: 30_000, rounds: 3 };
const QUICK: AdmissionSize = { clusters: 50, requests: 50, updates: 1000, rounds: 1 };

export async function runAdmission(
  progress: (line: string) => void,
  size: AdmissionSize = process.env["BENCH_QUICK"] === "1" ? QUICK : FULL,
): Promise<PartResult> {
  const measured = await measureAdmission(size, progress);
  return {
    part: "admission",
    command: "make bench PART=admission",
    date: today(),
    machine: describeMachine({ "kube-apiserver": measured.kubeVersion }),
    tables: [tableOf(measured)],
    plots: [],
    notes: notesOf(measured),
  };
}
