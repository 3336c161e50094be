import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import test from "node:test";

import type { PartName, PartResult } from "../../../bench/result.ts";
import { figure, renderPage, renderPart } from "../../../bench/report/page.ts";
import { PARTS } from "../../../bench/report/parts.ts";
import { checkSamples, readResults, renderReport } from "../../../bench/report/report.ts";
import { median } from "../../../bench/report/statistics.ts";
import { result, row } from "./results.ts";

const ROOT = resolve(import.meta.dirname, "../../..");

test("docs/benchmarks.md, the pages below it and their plots are what bench/results/ say (make bench-report writes them)", async () => {
  const rendered = await renderReport(readResults());
  for (const [file, text] of rendered) assert.equal(readFileSync(join(ROOT, file), "utf8"), text, file);
  const plots = globSync("docs/benchmarks/*", { cwd: ROOT });
  assert.deepEqual(
    plots.filter((file) => !rendered.has(file)),
    [],
  );
});

test("the same results give the same bytes, whatever was rendered before", async () => {
  const plot = {
    file: "growth",
    title: "Growth",
    x: { title: "Clusters", scale: "log" },
    y: { title: "ms" },
    series: [{ name: "one", points: [[1, 2] as const, [10, 3] as const] }],
  } as const;
  const [first, second] = [
    await renderReport([result([], [plot])]),
    await renderReport([result([], [plot])]),
  ];
  assert.deepEqual(first, second);
  const svg = first.get("docs/benchmarks/growth.svg") ?? "";
  for (const text of ["Growth", "Clusters", "ms", "one"]) assert.ok(svg.includes(`>${text}<`), text);
});

test("a goal is compared with the median", () => {
  const met = renderPart(result([row({ goal: { is: "at least", value: 2 }, samples: [1, 2, 9] })]));
  assert.match(met, /\| ≥ 2 \| 2 \(1–9\) \| × Go peer \| yes \|/);
  assert.match(met, /1 of 1 goals are met\./);
  const missed = renderPart(result([row({ goal: { is: "at least", value: 2 }, samples: [1, 1.99, 9] })]));
  assert.match(missed, /\| ≥ 2 \| 1\.99 \(1–9\) \| × Go peer \| \*\*no\*\* \|/);
  assert.match(missed, /0 of 1 goals are met\./);
});

test("the page says why goals are missed, only where they are", () => {
  const page = (sample: number): string =>
    renderPage([result([row({ goal: { is: "at least", value: 2 }, samples: [sample] })])]);
  assert.match(page(1), /Why goals are missed: .+\n\n0 of 1 goals are met\. \[All rows/);
  assert.doesNotMatch(page(2), /Why goals are missed/);
});

test("the page answers its questions from the rows, and adds up those that begin alike", () => {
  const killed = row({ id: "failed-sigkill", work: "SIGKILL", samples: [10], unit: "calls" });
  const wrong = ["a", "b"].map((id, at) =>
    row({ id: `wrong-allows-${id}`, samples: [at + 1], unit: "calls" }),
  );
  const page = renderPage([{ ...result([killed, ...wrong]), part: "faults" }]);
  assert.match(page, /\| Calls that fail when a replica is killed under load \| 10 calls \|/);
  assert.match(page, /\| Table: all 2 together \| – \| 3 \| calls \|/);
  assert.match(page, /\| Table: SIGKILL \| – \| 10 \| calls \|/);
});

test("every row that the page asks for was measured, where its part was", () => {
  const measured = new Map(readResults().map((each) => [each.part, each.tables.flatMap(({ rows }) => rows)]));
  const idsOf = (part: PartName): string[] => (measured.get(part) ?? []).map(({ id }) => id);
  for (const part of measured.keys()) {
    for (const key of PARTS[part].key) {
      const found = idsOf(part).some((id) =>
        key.endsWith("*") ? id.startsWith(key.slice(0, -1)) : id === key,
      );
      assert.ok(found, `${part}: ${key}`);
    }
  }
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
  assert.match(renderPart(result([row({})])), /\| not measured \|/);
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
  assert.match(page, /\| work \| – \| 3 \| × Go peer \| – \|/);
  assert.doesNotMatch(page, /goals are met/);
});

test("the page names the parts that were not measured", () => {
  assert.match(
    renderPage([result([])]),
    /Not measured yet: scale, rollouts, admission, faults, hostile input, soak\./,
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
