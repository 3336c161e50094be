/** What is kept of the runs, as rows of tables. */

import { quantile, rounded } from "../measure/statistics.ts";
import { atMost, below, type Goal, NONE, row, type Row, type Table } from "../result.ts";
import type { Durations, Run } from "./engine.ts";
import type { Call } from "./judge.ts";
import type { Scenario } from "./scenario.ts";

export interface Done {
  readonly scenario: Scenario;
  readonly run: Run;
  /** See Noise. */
  readonly noiseMs: number;
}

export function tablesOf(done: readonly Done[]): Table[] {
  const felt = done.filter(({ scenario }) => scenario.fromOthers).flatMap(feltRows);
  return [
    { title: "Wrong allows", rows: done.map(wrongAllowsRow) },
    { title: "Failed calls, with a second replica", rows: done.map(failedRow) },
    ...(felt.length === 0 ? [] : [{ title: "Calls about other namespaces", rows: felt }]),
  ];
}

function wrongAllowsRow({ scenario: { id, title }, run, noiseMs }: Done): Row {
  const { calls, goes, failed } = run;
  return row(`wrong-allows-${id}`, title, wrongAllowsOf(run), {
    unit: "calls",
    goal: NONE,
    note: `${calls} calls, ${failed.length} failed, ${goes} goes; right again ${rightAgain(run)}; noise ${noiseMs} ms`,
  });
}

function failedRow({ scenario: { id, title }, run: { failed } }: Done): Row {
  const note = failed.length === 0 ? undefined : reasonsOf(failed);
  return row(`failed-${id}`, title, failed.length, { unit: "calls", goal: NONE, note });
}

const FELT: Readonly<Record<keyof Durations, string>> = {
  held: "calls that hold",
  released: "calls that release, confirmed by reads",
  read: "a read of the API server itself",
  bare: "the same calls to a bare node:https server",
};
const LONGEST_STRETCH_MS = 25;

function feltRows({ scenario: { id, title }, run: { durations, stretches } }: Done): Row[] {
  const felt = (name: keyof Durations, share: number, goal?: Goal): Row => {
    const which = share === 1 ? "longest" : `p${share * 100}`;
    const ms = quantile(durations[name], share);
    return row(
      `${name}-${share * 100}-${id}`,
      `${title}: ${FELT[name]}, ${which}`,
      Number.isNaN(ms) ? [] : rounded(ms),
      { unit: "ms", goal },
    );
  };
  const [longest] = stretches.toSorted((a, b) => b.cpuMs - a.cpuMs);
  const over = stretches.filter(({ cpuMs }) => cpuMs > LONGEST_STRETCH_MS);
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

function rightAgain({ rightAgainMs }: Run): string {
  if (rightAgainMs === undefined) return "not within a minute";
  return rightAgainMs === 0 ? "at once" : `after ${(rightAgainMs / 1000).toFixed(1)} s`;
}

function reasonsOf(failed: readonly Call[]): string {
  const byReason = Map.groupBy(failed, ({ message }) => message);
  return [...byReason].map(([message, calls]) => `${calls.length} × ${message}`).join("; ");
}

/** While it runs. */
export function linesOf(run: Run): string[] {
  const { calls, goes, failed, wrongAllows, lastWrong, unconfirmed } = run;
  return [
    `${calls} calls, ${goes} goes, ${failed.length} failed, ${wrongAllowsOf(run)} wrong allows; right again ${rightAgain(run)}`,
    ...wrongAllows.slice(0, 3).map(({ cluster }) => `wrong allow of ${cluster}`),
    ...(failed.length === 0 ? [] : [reasonsOf(failed)]),
    ...[...unconfirmed].map(([reason, count]) => `${count} goes were not confirmed: ${reason}`),
    ...(lastWrong === undefined
      ? []
      : [`the last: ${lastWrong.result} ${lastWrong.cluster}: ${lastWrong.message}`]),
  ];
}
