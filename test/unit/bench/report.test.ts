import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import test from "node:test";

import { figure, renderPage, renderPart } from "../../../bench/report/page.ts";
import { PARTS } from "../../../bench/report/parts.ts";
import { checkSamples, readResults, renderReport } from "../../../bench/report/report.ts";
import { median } from "../../../bench/measure/statistics.ts";
import { NONE, type PartResult, type Row } from "../../../bench/result.ts";
import { MEASUREMENTS, rowsOf } from "../../../bench/speed/rows.ts";
import { result, row } from "./results.ts";

const ROOT = resolve(import.meta.dirname, "../../..");

test("docs/benchmarks.md and the pages beside the results are what bench/results/ say (make bench-report writes them)", async () => {
  const rendered = await renderReport(readResults());
  for (const [file, text] of rendered) assert.equal(readFileSync(join(ROOT, file), "utf8"), text, file);
  const pages = globSync("{docs/benchmarks/*,bench/results/*.md}", { cwd: ROOT });
  assert.deepEqual(
    pages.filter((file) => !rendered.has(file)),
    [],
  );
});

test("a goal is compared with the median", () => {
  const met = renderPart(result([row({ goal: { is: "at least", value: 2 }, samples: [1, 2, 9] })]));
  assert.match(met, /\| ≥ 2 \| 2 \(1–9\) × Go peer \| yes \|/);
  assert.match(met, /1 of 1 goals are met\./);
  const missed = renderPart(result([row({ goal: { is: "at least", value: 2 }, samples: [1, 1.99, 9] })]));
  assert.match(missed, /\| ≥ 2 \| 1\.99 \(1–9\) × Go peer \| \*\*no\*\* \|/);
  assert.match(missed, /0 of 1 goals are met\./);
});

test("the page says why goals are missed, only where they are", () => {
  const page = (sample: number): string =>
    renderPage([result([row({ goal: { is: "at least", value: 2 }, samples: [sample] })])]);
  assert.match(page(1), /Why goals are missed: .+\n\n0 of 1 goals are met\. \[All figures/);
  assert.doesNotMatch(page(2), /Why goals are missed/);
});

test("the page answers from the rows, and adds up those that begin alike", () => {
  const killed = row({ id: "failed-sigkill", work: "SIGKILL", samples: [10], unit: "calls", goal: NONE });
  const wrong = ["a", "b"].map((id, at) =>
    row({ id: `wrong-allows-${id}`, samples: [at + 1], unit: "calls", goal: NONE }),
  );
  const faults = { ...result([killed, ...wrong]), part: "faults" } as const;
  const page = renderPage([faults]);
  assert.match(page, /^- .+ under all faults together: \*\*3 calls\*\* \(goal = 0, missed\)\.$/m);
  assert.match(page, /^- .+ was killed: \*\*10 calls\*\* \(goal = 0, missed\)\.$/m);
});

test("every row that the page asks for was measured, where its part was", () => {
  for (const { part, tables } of readResults()) {
    const ids = tables.flatMap(({ rows }) => rows.map(({ id }) => id));
    for (const key of PARTS[part].answers.map(([, id]) => id.replace(/\*$/, ""))) {
      assert.ok(
        ids.some((id) => id.startsWith(key)),
        `${part}: ${key}`,
      );
    }
  }
});

test("the page asks for rows that a run of the bench gives today", () => {
  const samples = { callsPerSecond: 1, callsPerCpuSecond: 1, p99: 1, clientCores: 1, serverP99: 1 };
  const round = new Map(MEASUREMENTS.map(({ name }) => [name, samples]));
  const ids = rowsOf([round]).map(({ id }) => id);
  for (const [, id] of PARTS.speed.answers) assert.ok(ids.includes(id), id);
});

test("many rows of which nothing is to be said come in one sentence", () => {
  const none = (count: number): Row[] =>
    Array.from({ length: count }, (_, at) =>
      row({ work: `fault ${at}`, samples: [0], unit: "calls", goal: NONE }),
    );
  const killed = row({ work: "SIGKILL", samples: [10], unit: "calls", goal: NONE });
  const many = renderPart(result([killed, ...none(4)]));
  assert.match(many, /\| SIGKILL \| = 0 \| 10 calls \| \*\*no\*\* \|/);
  assert.match(many, /^0 calls in each of: fault 0; fault 1; fault 2; fault 3\.$/m);
  assert.match(many, /4 of 5 goals are met/);
  assert.match(renderPart(result(none(3))), /\| fault 2 \| = 0 \| 0 calls \| yes \|/);
});

test("a goal that is an upper bound, a limit or an exact number is taken at its word", () => {
  const metBy = (is: "at most" | "below" | "exactly", samples: number[]): string =>
    /(\d) of 1 goals/.exec(renderPart(result([row({ goal: { is, value: 5 }, samples })])))?.[1] ?? "";
  assert.deepEqual(
    [metBy("at most", [5]), metBy("at most", [5.01]), metBy("below", [5]), metBy("below", [4.99])],
    ["1", "0", "0", "1"],
  );
  assert.deepEqual([metBy("exactly", [5]), metBy("exactly", [4]), metBy("exactly", [6])], ["1", "0", "0"]);
});

test("a row that was not measured misses its goal, also where its figure is no number", () => {
  for (const samples of [[], [NaN]]) {
    const page = renderPart(result([row({ goal: { is: "at most", value: 5 }, samples })]));
    assert.match(page, /0 of 1 goals are met/);
  }
  assert.match(renderPart(result([row({})])), /\| not measured × Go peer \|/);
});

test("a result with a figure that is no number is not kept", () => {
  const measured = (sample: number): PartResult => result([row({ id: "a", samples: [1, sample] })]);
  assert.doesNotThrow(() => checkSamples(measured(0)));
  for (const sample of [NaN, Infinity]) {
    assert.throws(() => checkSamples(measured(sample)), /^Error: a: a sample is no number: 1, \w+$/);
  }
});

test("a row without a goal is neither met nor missed", () => {
  const page = renderPart(result([row({ samples: [3] })]));
  assert.match(page, /\| work \| – \| 3 × Go peer \| – \|/);
  assert.doesNotMatch(page, /goals are met/);
});

test("the page names the parts that were not measured", () => {
  assert.match(
    renderPage([result([])]),
    /Not measured yet: scale, rollouts, admission, tasks, faults, hostile input, soak\./,
  );
});

test("what stands in a cell does not end it", () => {
  assert.match(renderPart(result([row({ samples: [1], note: "a|b\nc" })])), /a\\\|b c \|/);
});

test("figures have three digits that count, whole ones all of theirs", () => {
  assert.deepEqual([1.2345, 0.98765, 12345.6, 12000, 250, 7].map(figure), [
    "1.23",
    "0.988",
    "12,346",
    "12,000",
    "250",
    "7",
  ]);
});

test("the median of an even number of samples is the mean of those in the middle", () => {
  assert.deepEqual([median([3, 1, 2]), median([4, 1, 3, 2]), median([5])], [2, 2.5, 5]);
});
