/** Which rules, gates and verdicts suites have seen. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { coverageLines } from "../../../../src/cli/suite/coverage.ts";
import { PLAIN } from "../../../../src/cli/terminal/colour.ts";
import { APPROVED, CLUSTER, DELETE, policy, run, suite } from "./suites.ts";
import { folder } from "../program.ts";
import { hookpolicy } from "../resident.ts";

const NIGHT = {
  name: "night",
  window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "4h" }] },
};
const APPROVE = { kind: "Cluster", metadata: { name: "prod-1", annotations: { "example.com/ok": "uid-1" } } };
const HELD = { call: DELETE, expect: { verdict: "Blocked" } };

const seenIn = async (spec: object): Promise<string[]> => {
  const { coverage } = await run(suite(spec));
  return coverageLines(coverage ?? [], PLAIN);
};

test("verdicts and gates count as seen by the calls of a suite, and the rest as never seen", async () => {
  const until = [APPROVED, NIGHT];
  assert.deepEqual(await seenIn({ policies: [policy(until)], steps: [{ patch: [APPROVE] }, HELD] }), [
    "HookPolicy team-a/protect",
    "  rule confirmed: Blocked; never Allowed",
    "    gate approved: met; never waits",
    "    gate night: waits; never met",
    "",
    "3 of 6 verdicts, gates and phases of tasks seen: 50 %",
  ]);
});

test("timelines, and time that passes between calls, see as well", async () => {
  const policies = [policy([NIGHT])];
  const timeline = { ...DELETE, to: "2026-11-22T12:00:00Z", expect: [{ verdict: "NotEvaluable" }] };
  const whole = ["    gate night: waits, met", "", "4 of 4 verdicts, gates and phases of tasks seen: 100 %"];
  assert.deepEqual((await seenIn({ policies, steps: [{ timeline }] })).slice(2), whole);
  assert.deepEqual((await seenIn({ policies, steps: [HELD, { advance: "24h" }] })).slice(2), whole);
});

test("a condition can be skipped, a rule without gates only observes, and what cannot be evaluated is extra", async () => {
  const condition = {
    matchConditions: [{ name: "c", expression: "request.hook == 'BeforeClusterUpgrade'" }],
  };
  const observing = policy([], condition) as { readonly spec: { readonly rules: readonly object[] } };
  const rules = observing.spec.rules.map(({ until: _, ...rule }: { readonly until?: unknown }) => rule);
  const policies = [{ ...observing, spec: { rules } }];
  assert.deepEqual(await seenIn({ policies, steps: [{ ...HELD, expect: { verdict: "Allowed" } }] }), [
    "HookPolicy team-a/protect",
    "  rule confirmed: Skipped; never Observed",
    "",
    "1 of 2 verdicts, gates and phases of tasks seen: 50 %",
  ]);
  const label = { name: "team", label: { key: "team", from: "Namespace" } };
  assert.deepEqual((await seenIn({ policies: [policy([label])], steps: [HELD] })).slice(1), [
    "  rule confirmed: NotEvaluable; never Allowed, Blocked",
    "    gate team: not evaluable; never met, waits",
    "",
    "0 of 4 verdicts, gates and phases of tasks seen: 0 %",
  ]);
});

describe("of a task, suites see the phases", () => {
  const JOB = { apiVersion: "batch/v1", kind: "Job" };
  const create = { ...JOB, spec: { template: { spec: { restartPolicy: "Never" } } } };
  const tasked = (until: readonly object[], ...tasks: readonly object[]): object => {
    const { spec, ...rest } = policy(until, {
      tasks,
      ...(until.length === 0 && { until: undefined }),
    }) as { readonly spec: object };
    return { ...rest, spec: { ...spec, serviceAccountName: "worker" } };
  };
  const ends = (type: "Complete" | "Failed"): object => {
    const status = { conditions: [{ type, status: "True" }] };
    return { patch: [{ ...JOB, metadata: { name: "clean" }, status }], call: DELETE };
  };
  const seenOf = async (task: object, steps: readonly object[], until: readonly object[] = []) => {
    const policies = [tasked(until, { name: "clean", create, ...task })];
    const lines = await seenIn({ policies, steps });
    return [lines.find((line) => line.startsWith("    task"))?.trim(), lines.at(-1)];
  };
  const call = HELD;

  test("that its decisions show", async () => {
    assert.deepEqual(await seenOf({}, [call], [APPROVED]), [
      "task clean: not begun; never Running, Succeeded, Failed",
      "3 of 8 verdicts, gates and phases of tasks seen: 37 %",
    ]);
    assert.deepEqual(await seenOf({}, [call, call, ends("Complete")]), [
      "task clean: not begun, Running, Succeeded; never Failed",
      "5 of 6 verdicts, gates and phases of tasks seen: 83 %",
    ]);
  });

  test("and that it is tried again, if it can be", async () => {
    const [failed] = await seenOf({}, [call, call, ends("Failed")]);
    assert.equal(failed, "task clean: not begun, Running, Failed; never Succeeded");
    const [never] = await seenOf({ retries: 1 }, [call, call, ends("Complete")]);
    assert.equal(never, "task clean: not begun, Running, Succeeded; never retried, Failed");
    const [waits] = await seenOf({ retries: 1 }, [call, call, ends("Failed")]);
    assert.equal(waits, "task clean: not begun, Running; never retried, Succeeded, Failed");
    const [retried] = await seenOf({ retries: 1 }, [call, call, ends("Failed"), { advance: "31s" }, call]);
    assert.equal(retried, "task clean: not begun, Running, retried; never Succeeded, Failed");
  });

  test("together", async () => {
    const policies = [tasked([], { name: "clean", create })];
    const parts = await Promise.all(
      (["Complete", "Failed"] as const).map(
        async (type) => (await run(suite({ policies, steps: [call, call, ends(type)] }))).coverage ?? [],
      ),
    );
    const task = coverageLines(parts.flat(), PLAIN).find((line) => line.includes("task clean"));
    assert.equal(task?.trim(), "task clean: not begun, Running, Succeeded, Failed");
  });
});

test("suites see together what each of them sees alone", async () => {
  const [held, released] = await Promise.all(
    [[HELD], [{ patch: [APPROVE] }, { ...HELD, expect: { verdict: "Allowed" } }]].map(
      async (steps) => (await run(suite({ steps }))).coverage ?? [],
    ),
  );
  assert.ok(held !== undefined && released !== undefined);
  const percent = (covered: typeof held): string | undefined =>
    / (\d+) %$/.exec(coverageLines(covered, PLAIN).at(-1) ?? "")?.[1];
  assert.deepEqual([held, released, [...held, ...released]].map(percent), ["50", "50", "100"]);
  assert.match(coverageLines([], PLAIN).join(), /: 100 %$/);
});

test("--coverage follows the totals", async (t) => {
  const cwd = await folder(t, { "s.yaml": suite({ clusters: [CLUSTER], steps: [HELD] }) });
  const { stdout } = await hookpolicy(["test", "s.yaml", "--coverage"], { cwd });
  assert.match(
    stdout,
    /\n1 passed; 1 suite\n\nHookPolicy team-a\/protect\n {2}rule confirmed: Blocked; never Allowed\n/,
  );
  for (const format of ["markdown", "junit"]) {
    const { code, stderr } = await hookpolicy(["test", "s.yaml", "--coverage", "-o", format], { cwd });
    assert.equal(code, 2);
    assert.match(stderr, /--coverage is for the text report/);
  }
});
