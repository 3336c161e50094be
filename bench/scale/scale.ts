/** A whole fleet: how long it takes to load, what it takes to keep, and how soon a change is known of everywhere. */

import { describeMachine, today } from "../machine.ts";
import type { PartResult } from "../result.ts";
import { measureSize, type Measured, type ScaleSize } from "./measure.ts";
import { notesOf, plotsOf, tableOf } from "./report.ts";

const ROUNDS = {
  startRounds: 3,
  editRounds: 5,
  approvalRounds: 2,
  approvalsPerRound: 150,
  loadSeconds: 60,
  restSeconds: 600,
} as const;

const FULL: readonly ScaleSize[] = [
  { ...ROUNDS, clusters: 1000, policies: 50, restSeconds: 120 },
  { ...ROUNDS, clusters: 10_000, policies: 100 },
];

const QUICK: readonly ScaleSize[] = [
  {
    clusters: 200,
    policies: 10,
    startRounds: 2,
    editRounds: 2,
    approvalRounds: 1,
    approvalsPerRound: 20,
    loadSeconds: 10,
    restSeconds: 20,
  },
];

export async function runScale(
  progress: (line: string) => void,
  sizes: readonly ScaleSize[] = process.env["BENCH_QUICK"] === "1" ? QUICK : FULL,
): Promise<PartResult> {
  const measured: Measured[] = [];
  for (const size of sizes) {
    const name = `${size.clusters} Clusters, ${size.policies} policies`;
    measured.push(await measureSize(size, (line) => progress(`${name}: ${line}`)));
  }
  return {
    part: "scale",
    command: "make bench PART=scale",
    date: today(),
    machine: describeMachine({ "kube-apiserver": measured[0]?.kubeVersion ?? "unknown" }),
    tables: measured.map(tableOf),
    plots: plotsOf(measured),
    notes: notesOf(measured),
  };
}
