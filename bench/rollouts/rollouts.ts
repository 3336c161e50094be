/** A HookRollout over a whole fleet: how soon a free slot is taken, what that costs, and what it costs to wait. */

import { describeMachine, today } from "../machine.ts";
import type { PartResult } from "../result.ts";
import { measureRollout, type RolloutSize } from "./measure.ts";
import { notesOf, tableOf } from "./report.ts";

const FULL: RolloutSize = {
  clusters: 10_000,
  slots: 200,
  ends: 100,
  endsPerSecond: 1,
  loadSeconds: 60,
  restSeconds: 60,
};

const QUICK: RolloutSize = {
  clusters: 500,
  slots: 50,
  ends: 20,
  endsPerSecond: 1,
  loadSeconds: 15,
  restSeconds: 20,
};

export async function runRollouts(
  progress: (line: string) => void,
  size: RolloutSize = process.env["BENCH_QUICK"] === "1" ? QUICK : FULL,
): Promise<PartResult> {
  const measured = await measureRollout(size, progress);
  return {
    part: "rollouts",
    command: "make bench PART=rollouts",
    date: today(),
    machine: describeMachine({ "kube-apiserver": measured.kubeVersion }),
    tables: [tableOf(measured)],
    plots: [],
    notes: notesOf(measured),
  };
}
