/** Every fault under load: wrong allows, failed calls, and the time until all answers are right again. */

import type { PartResult, Row, Table } from "../result.ts";
import { describeMachine, today } from "../machine.ts";
import { API_SERVER } from "./apiserver.ts";
import { type Run, runScenario } from "./engine.ts";
import { POLICIES } from "./policies.ts";
import { REPLICAS } from "./replicas.ts";
import type { Scenario } from "./scenario.ts";
import { WATCHES } from "./watches.ts";

const SCENARIOS: readonly Scenario[] = [...REPLICAS, ...API_SERVER, ...WATCHES, ...POLICIES];

interface Done {
  readonly scenario: Scenario;
  readonly run: Run;
}

export async function runFaults(progress: (line: string) => void): Promise<PartResult> {
  const quick = process.env["BENCH_QUICK"] !== undefined;
  const only = process.env["FAULTS"]?.split(",");
  const done: Done[] = [];
  const broken: string[] = [];
  for (const scenario of SCENARIOS.filter(({ id }) => only?.includes(id) ?? true)) {
    progress(scenario.title);
    try {
      const run = await runScenario(scenario, quick);
      done.push({ scenario, run });
      for (const line of linesOf(run)) progress(`  ${line}`);
    } catch (error) {
      broken.push(`${scenario.title}: ${String(error)}`);
      progress(`  could not be run: ${error instanceof Error ? (error.stack ?? "") : String(error)}`);
    }
  }
  return {
    part: "faults",
    command: "make bench PART=faults",
    date: today(),
    machine: describeMachine({}),
    tables: tablesOf(done),
    plots: [],
    notes: broken,
  };
}

function linesOf(run: Run): string[] {
  const bad = [...run.wrongAllows.slice(0, 3), ...run.failed.slice(0, 3)];
  return [summary(run), ...bad.map(({ result, cluster, message }) => `${result} ${cluster}: ${message}`)];
}

function summary(run: Run): string {
  const { calls, goes, failed, wrongAllows, wrongAllowsBesides, rightAgainMs, firstGoMs } = run;
  return `${calls} calls, ${goes} goes, ${failed.length} failed, ${wrongAllows.length}+${wrongAllowsBesides} wrong allows; first go ${seconds(firstGoMs)}, right again ${seconds(rightAgainMs)}`;
}

function seconds(ms: number | undefined): string {
  return ms === undefined ? "never" : `after ${(ms / 1000).toFixed(1)} s`;
}

function tablesOf(done: readonly Done[]): Table[] {
  const rows = (of: (each: Done) => Row): Row[] => done.map(of);
  return [{ title: "Wrong allows", rows: rows(wrongAllowsRow) }];
}

function wrongAllowsRow({ scenario: { id, title }, run }: Done): Row {
  const samples = [run.wrongAllows.length + run.wrongAllowsBesides];
  return { id: `wrong-allows-${id}`, work: title, goal: { is: "exactly", value: 0 }, samples, unit: "calls" };
}
