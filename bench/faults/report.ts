/** The rows that the runs of scenarios make. */

import { MEMORY_LIMIT_MIB } from "../../test/controlplane/shipped.ts";
import { quantile, rounded } from "../measure/statistics.ts";
import { atMost, below, type Goal, none, row, type Row, type Table } from "../result.ts";
import type { Run } from "./engine.ts";
import type { Felt } from "./felt.ts";
import type { Call } from "./judge.ts";
import type { Scenario } from "./scenario.ts";

export interface FinishedScenario {
  readonly scenario: Scenario;
  readonly run: Run;
  readonly noiseMs: number;
}

export function tablesOf(done: readonly FinishedScenario[]): Table[] {
  const felt = done.flatMap(({ scenario, run }) =>
    run.felt === undefined ? [] : [...feltRows(scenario, run.felt), residentRow(scenario, run)],
  );
  return [
    { title: "Wrong allows", rows: done.map(wrongAllowsRow) },
    { title: "Failed calls, with a second replica", rows: done.map(failedRow) },
    ...(felt.length === 0 ? [] : [{ title: "Calls about other namespaces", rows: felt }]),
  ];
}

function wrongAllowsRow({ scenario: { id, title }, run, noiseMs }: FinishedScenario): Row {
  const note = `${summary(run)}; noise ${noiseMs} ms`;
  return row(`wrong-allows-${id}`, title, wrongAllowsOf(run), { ...none("calls"), note });
}

function failedRow({ scenario: { id, title }, run: { failed } }: FinishedScenario): Row {
  const note = failed.length === 0 ? undefined : reasonsOf(failed);
  return row(`failed-${id}`, title, failed.length, { ...none("calls"), note });
}

const FELT: Readonly<Record<Exclude<keyof Felt, "stretches">, string>> = {
  held: "calls that hold",
  released: "calls that release, confirmed by reads",
  read: "a read of the API server itself",
  bare: "the same calls to a bare node:https server",
};
const LONGEST_STRETCH_MS = 25;

function residentRow({ id, title }: Scenario, { residentMiB }: Run): Row {
  const goal = atMost(MEMORY_LIMIT_MIB);
  return row(`resident-${id}`, `${title}: resident memory of a replica`, rounded(residentMiB), {
    unit: "MiB",
    goal,
  });
}

function feltRows({ id, title }: Scenario, measured: Felt): Row[] {
  const felt = (name: keyof typeof FELT, share: number, goal?: Goal): Row => {
    const work = `${title}: ${FELT[name]}, ${share === 1 ? "longest" : `p${share * 100}`}`;
    const ms = quantile(measured[name], share);
    const samples = Number.isNaN(ms) ? [] : rounded(ms);
    return row(`${name}-${share * 100}-${id}`, work, samples, { unit: "ms", goal });
  };
  const [longest] = measured.stretches.toSorted((a, b) => b.cpuMs - a.cpuMs);
  const over = measured.stretches.filter(({ cpuMs }) => cpuMs > LONGEST_STRETCH_MS);
  const stretch = `${title}: the longest stretch of a replica's event loop`;
  return [
    felt("held", 0.5),
    felt("held", 0.99, below(100)),
    felt("held", 1, atMost(300)),
    row(`stretch-${id}`, stretch, rounded(longest?.cpuMs ?? 0), {
      unit: "ms",
      goal: atMost(LONGEST_STRETCH_MS),
      note: `${over.length} above ${LONGEST_STRETCH_MS} ms; ${rounded(longest?.wallMs ?? 0)} ms by the clock`,
    }),
    ...(["released", "read"] as const).flatMap((name) => [felt(name, 0.5), felt(name, 0.99)]),
    ...[0.5, 0.99, 1].map((share) => felt("bare", share)),
  ];
}

function wrongAllowsOf({ wrongAllows, wrongAllowsBesides }: Run): number {
  return wrongAllows.length + wrongAllowsBesides;
}

function summary({ calls, failed, goes, rightAgainMs }: Run): string {
  const after =
    rightAgainMs === undefined ? "not within a minute" : `after ${(rightAgainMs / 1000).toFixed(1)} s`;
  const rightAgain = rightAgainMs === 0 ? "at once" : after;
  return `${calls} calls, ${failed.length} failed, ${goes} released; right again ${rightAgain}`;
}

function reasonsOf(failed: readonly Call[]): string {
  const byReason = Map.groupBy(failed, ({ message }) => message);
  return [...byReason].map(([message, calls]) => `${calls.length} × ${message}`).join("; ");
}

export function linesOf(run: Run): string[] {
  const { wrongAllows, lastWrong: last } = run;
  return [
    `${summary(run)}; ${wrongAllowsOf(run)} wrong allows`,
    ...wrongAllows.slice(0, 3).map(({ cluster }) => `wrong allow of ${cluster}`),
    ...(last === undefined ? [] : [`the last: ${last.result} ${last.cluster}: ${last.message}`]),
  ];
}
