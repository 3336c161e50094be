/** Suites: the Events and metrics that the operator would report. */

import assert from "node:assert/strict";
import test from "node:test";
import { rawOverride } from "../raw.ts";
import { APPROVED, CLUSTER, DELETE, policy, problemOf, runSteps, suite } from "./suites.ts";

const NIGHT = {
  name: "night",
  window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "4h" }] },
};
const DEADLINE = { after: "10h", onExpiry: "Allow" };
const HELD = {
  reason: "Held",
  about: "Cluster team-a/prod-1",
  message: "rule confirmed: gate approved waits",
};
const PROCEED = {
  kind: "Cluster",
  metadata: {
    name: "prod-1",
    annotations: { "runtime.cluster.x-k8s.io/ok-to-delete": "", "example.com/ok": "uid-1" },
  },
};
const DELETED = {
  ...CLUSTER,
  metadata: { ...CLUSTER.metadata, deletionTimestamp: "2026-11-21T12:00:00Z" },
};

const found = async (spec: object): Promise<string[]> =>
  (await runSteps(spec)).map(({ status, compared, problem }) => {
    const wrong = compared.filter(({ same }) => !same).map((each) => `${each.expected} | ${each.actual}`);
    return [status, ...wrong, problem?.message].filter((part) => part !== undefined).join(": ");
  });

test("a hold is one Event, of the step in which it begins, and its end another", async () => {
  const steps = [
    { call: DELETE, events: [HELD] },
    { advance: "1h", call: DELETE, events: [] },
    { patch: [PROCEED], events: [{ reason: "Released", message: "^BeforeClusterDelete proceeds: " }] },
    { advance: "1h", events: [] },
  ];
  assert.deepEqual(await found({ clusters: [DELETED], steps }), ["passed", "passed", "passed", "passed"]);
});

test("what earlier calls have caused was reported then", async () => {
  const asked = [{ ...DELETE, firstAsked: "2026-11-21T11:00:00Z" }];
  const steps = [{ call: DELETE, events: [], metrics: [{ name: "hookpolicy_held_clusters", value: 1 }] }];
  assert.deepEqual(await found({ asked, steps }), ["passed"]);
});

test("the steps of a deadline are Events, and counted, however far the clock moves at once", async () => {
  const policies = [policy([APPROVED], { deadline: DEADLINE })];
  const passed = (percent: string, value = 1): object => ({
    name: "hookpolicy_deadlines",
    labels: { policy: "protect", passed: percent },
    value,
  });
  const half = { reason: "DeadlineApproaching", message: "50 %" };
  const most = { reason: "DeadlineApproaching", message: "80 %" };
  const steps = [
    { call: DELETE, metrics: [passed("0"), passed("50", 0)] },
    { advance: "5h", events: [half], metrics: [passed("50")] },
    { advance: "4h", events: [most], metrics: [passed("80")] },
    { advance: "30m", events: [] },
    {
      advance: "2h",
      events: [{ reason: "DeadlinePassed", message: "does not hold it any more" }],
      metrics: [passed("100")],
    },
  ];
  assert.deepEqual(
    await found({ policies, steps }),
    steps.map(() => "passed"),
  );
  const leap = [{ call: DELETE }, { advance: "24h", events: [half, most, { reason: "DeadlinePassed" }] }];
  assert.deepEqual(await found({ policies, steps: leap }), ["done", "passed"]);
});

test("windows open and close whether or not an operation waits for them", async () => {
  const open = (value: number): object => ({
    name: "hookpolicy_window_open",
    labels: { rule: "confirmed", gate: "night" },
    value,
  });
  const [opened, closed] = ["WindowOpened", "WindowClosed"].map((reason) => ({
    reason,
    about: "HookPolicy team-a/protect",
  }));
  const steps = [
    { advance: "9h", events: [], metrics: [open(0)] },
    { advance: "1h", events: [opened], metrics: [open(1)] },
    { advance: "48h", events: [opened, closed, opened, closed] },
  ];
  assert.deepEqual(await found({ policies: [policy([NIGHT])], steps }), ["passed", "passed", "passed"]);
});

test("an override that releases an operation is an Event once the Cluster shows that it proceeded", async () => {
  const override = rawOverride("incident", { expiresAt: "2026-11-21T14:00:00Z" });
  const state = (name: string): object => ({
    name: "hookpolicy_overrides",
    labels: { state: name },
    value: 1,
  });
  const { annotations: _, ...metadata } = PROCEED.metadata;
  const mark = { "runtime.cluster.x-k8s.io/ok-to-delete": "" };
  const steps = [
    { call: DELETE, events: [HELD] },
    { create: [override], call: DELETE, expect: { verdict: "Allowed" }, metrics: [state("active")] },
    {
      patch: [{ ...PROCEED, metadata: { ...metadata, annotations: mark } }],
      events: [{ reason: "Released" }, { reason: "OverrideUsed", message: "HookOverride incident" }],
    },
    { advance: "2h", metrics: [state("expired")] },
  ];
  assert.deepEqual(await found({ clusters: [DELETED], steps }), ["passed", "passed", "passed", "passed"]);
});

test("decisions are counted by policy, hook and verdict, and those of an Audit policy as what it would hold", async () => {
  const count = (verdict: string): object => ({
    name: "hookpolicy_policy_decisions",
    labels: { policy: "protect", hook: "BeforeClusterDelete", verdict },
    value: 1,
  });
  const audit = { kind: "HookPolicy", metadata: { name: "protect" }, spec: { mode: "Audit" } };
  const steps = [
    { call: DELETE, metrics: [count("Blocked")] },
    { patch: [audit], metrics: [count("WouldBlock"), { name: "hookpolicy_held_clusters", value: 0 }] },
  ];
  assert.deepEqual(await found({ steps }), ["passed", "passed"]);
});

test("an Event that is missing, another one, and one too many are told", async () => {
  const steps = [
    { call: DELETE, events: [{ reason: "Held", message: "nothing" }, { reason: "Released" }] },
    { advance: "1h", metrics: [{ name: "hookpolicy_held_clusters", labels: { hook: "x" }, value: 7 }] },
  ];
  const [first = "", second] = await found({ steps });
  assert.match(
    first,
    /^failed: Held \/nothing\/ \| -: Released \| -: - \| Held Cluster team-a\/prod-1: BeforeClusterDelete is held by/,
  );
  assert.equal(second, "failed: 7 | 0");
  const [none = ""] = await found({ steps: [{ call: DELETE, expect: { verdict: "Blocked" }, events: [] }] });
  assert.match(none, /^failed: - \| Held Cluster team-a\/prod-1: /);
});

test("a name that does not exist is an error: nothing that is counted would be zero as well", async () => {
  const metric = (labels: object): string =>
    suite({ steps: [{ metrics: [{ name: "hookpolicy_deadlines", labels, value: 0 }] }] });
  assert.match(
    await problemOf(metric({ polcy: "protect" })),
    /^spec\.steps\[0\]\.metrics\[0\]\.labels: hookpolicy_deadlines has no label "polcy"; did you mean "policy"\?$/,
  );
  assert.match(
    await problemOf(metric({ policy: "protekt" })),
    /^spec\.steps\[0\]\.metrics\[0\]\.policy: there is no policy "protekt"; did you mean "protect"\?$/,
  );
  assert.match(
    await problemOf(suite({ steps: [{ events: [{ reason: "Hold" }] }] })),
    /^spec\.steps\[0\]\.events\[0\]\.reason: found "Hold", expected one of Held, /,
  );
});

test("windows of a minute over a year are too many, unless nothing is expected of them", async () => {
  const window = { timeZone: "UTC", allow: [{ schedule: "* * * * *", duration: "30s" }] };
  const policies = [policy([{ name: "minute", window }])];
  const far = (expected: object) => found({ policies, steps: [{ advance: "8760h", ...expected }] });
  const problem =
    "error: spec.steps[0].advance: windows open and close more than 100000 times until 2027-11-21T12:00:00.000Z";
  assert.deepEqual(await far({ events: [] }), [problem]);
  assert.deepEqual(await far({ call: DELETE, expect: { verdict: "Allowed" } }), ["passed"]);
});
