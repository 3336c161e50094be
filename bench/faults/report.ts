/** What is kept of the runs, as rows of tables. */

import type { Goal, Row, Table } from "../result.ts";
import type { Durations, Run } from "./engine.ts";
import type { Call } from "./judge.ts";
import type { Scenario } from "./scenario.ts";

export interface Done {
  readonly scenario: Scenario;
  readonly run: Run;
}

const NONE: Goal = { is: "exactly", value: 0 };

export function tablesOf(done: readonly Done[]): Table[] {
  return [
    { title: "Wrong allows", rows: done.map(wrongAllowsRow) },
    { title: "Failed calls, with a second replica", rows: done.map(failedRow) },
    {
      title: "From the end of the fault until every answer is right again",
      rows: done.flatMap(rightAgainRow),
    },
    ...feltTables(done.filter(({ scenario }) => scenario.fromOthers)),
  ];
}

const FELT: Readonly<Record<keyof Durations, string>> = {
  held: "calls that hold",
  released: "calls that release, confirmed by reads",
  read: "a read of the API server itself",
  bare: "the same calls to a bare node:https server",
};

const P99: Goal = { is: "below", value: 100 };
const LONGEST: Goal = { is: "at most", value: 300 };
const STRETCH: Goal = { is: "at most", value: 25 };

function feltTables(done: readonly Done[]): Table[] {
  if (done.length === 0) return [];
  const rows = done.flatMap(({ scenario: { id, title }, run: { durations, stretches } }) => {
    const row = (name: keyof Durations, quantile: number, goal?: Goal): Row => {
      const all = durations[name];
      const ms = all[Math.min(all.length - 1, Math.floor(all.length * quantile))];
      return {
        id: `${name}-${quantile * 100}-${id}`,
        work: `${title}: ${FELT[name]}, ${quantile === 1 ? "longest" : `p${quantile * 100}`}`,
        goal,
        samples: ms === undefined ? [] : [tenths(ms)],
        unit: "ms",
      };
    };
    const [longest] = stretches.toSorted((a, b) => b.cpuMs - a.cpuMs);
    const over = stretches.filter(({ cpuMs }) => cpuMs > STRETCH.value);
    const stretch: Row = {
      id: `stretch-${id}`,
      work: `${title}: the longest stretch of a replica's event loop`,
      goal: STRETCH,
      samples: [tenths(longest?.cpuMs ?? 0)],
      unit: "ms",
      note: `${over.length} above ${STRETCH.value} ms; ${tenths(longest?.wallMs ?? 0)} ms by the clock`,
    };
    return [
      row("held", 0.5),
      row("held", 0.99, P99),
      row("held", 1, LONGEST),
      stretch,
      row("released", 0.5),
      row("released", 0.99),
      row("read", 0.5),
      row("read", 0.99),
      row("bare", 0.5),
      row("bare", 0.99),
      row("bare", 1),
    ];
  });
  return [{ title: "Calls about other namespaces", rows }];
}

function tenths(ms: number): number {
  return Math.round(ms * 10) / 10;
}

function wrongAllowsRow({ scenario: { id, title }, run }: Done): Row {
  const { calls, goes, failed } = run;
  const note = `${calls} calls, ${failed.length} failed, ${goes} goes; right again ${rightAgain(run)}`;
  return {
    id: `wrong-allows-${id}`,
    work: title,
    goal: NONE,
    samples: [wrongAllowsOf(run)],
    unit: "calls",
    note,
  };
}

function failedRow({ scenario: { id, title }, run: { failed } }: Done): Row {
  const note = failed.length === 0 ? {} : { note: reasonsOf(failed) };
  return { id: `failed-${id}`, work: title, goal: NONE, samples: [failed.length], unit: "calls", ...note };
}

function rightAgainRow({ scenario: { id, title }, run: { rightAgainMs } }: Done): Row[] {
  if (rightAgainMs === undefined) return [];
  const samples = [Math.round(rightAgainMs) / 1000];
  return [{ id: `right-again-${id}`, work: title, goal: undefined, samples, unit: "s" }];
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

/** For whoever watches the run. */
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
