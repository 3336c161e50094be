/** Suites: the clock, what is remembered, and what is expected. */

import assert from "node:assert/strict";
import test from "node:test";
import { rawOverride } from "../raw.ts";
import { APPROVED, CLUSTER, DELETE, policy, run, runSteps, suite, UPGRADE } from "./suites.ts";

const NIGHT = {
  name: "night",
  window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "4h" }] },
};
const SOAK = { name: "soak", wait: { duration: "1h" } };
const APPROVE = { kind: "Cluster", metadata: { name: "prod-1", annotations: { "example.com/ok": "uid-1" } } };
const WITHDRAW = { kind: "Cluster", metadata: { name: "prod-1", annotations: { "example.com/ok": null } } };

const statuses = async (spec: object): Promise<string[]> =>
  (await runSteps(spec)).map(({ status, compared, problem }) => {
    const wrong = compared.filter(({ same }) => !same).map((each) => `${each.field} ${each.actual}`);
    return [status, ...wrong, problem?.message].filter((part) => part !== undefined).join(": ");
  });

test("a step passes where every field that it expects is so", async () => {
  const expect = {
    verdict: "Blocked",
    policy: "team-a/protect",
    rule: "confirmed",
    gate: "approved",
    reason: "WaitingForAnnotation",
    retryAfterSeconds: 10,
    message: "^HookPolicy team-a/protect, rule confirmed: .*kubectl annotate",
    nextChange: "Never",
  };
  assert.deepEqual(await statuses({ steps: [{ call: DELETE, expect }] }), ["passed"]);
  for (const [field, value] of Object.entries({
    verdict: "Allowed",
    reason: "WindowClosed",
    retryAfterSeconds: 5,
    message: "approval$",
    nextChange: "2026-11-22T12:00:00Z",
  })) {
    const [step] = await runSteps({ steps: [{ call: DELETE, expect: { ...expect, [field]: value } }] });
    assert.equal(step?.status, "failed", field);
    assert.deepEqual(
      step.compared.filter(({ same }) => !same).map((each) => each.field),
      [field],
    );
  }
});

test("the rule that is named is found among several that hold", async () => {
  const two = policy([], {});
  const rules = ["one", "two"].map((name) => ({
    name,
    hooks: ["BeforeClusterDelete"],
    until: [
      { name: `${name}-a`, annotation: { key: "a" } },
      { name: `${name}-b`, annotation: { key: "b" } },
    ],
  }));
  const steps = [
    { call: DELETE, expect: { rule: "two", gate: "two-b", reason: "WaitingForAnnotation" } },
    { call: DELETE, expect: { rule: "one", gate: "two-b" } },
  ];
  const spec = { policies: [{ ...two, spec: { rules } }], steps };
  const [found, mixed] = await statuses({ ...spec, steps: steps.slice(0, 1) }).then(async ([first]) => [
    first,
    (await run(suite(spec))).steps[1]?.problem?.message,
  ]);
  assert.equal(found, "passed");
  assert.match(mixed ?? "", /rule one has no gate "two-b"/);
});

test("what is patched, created and deleted counts from that step on", async () => {
  const object = { apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "team-a", name: "go" } };
  const gate = { name: "go", object: { apiVersion: "v1", kind: "ConfigMap", name: "go" } };
  // The longest that is allowed, from its creation in the step.
  const override = rawOverride("let-go", { expiresAt: "2026-11-28T12:00:01Z" });
  const found = await statuses({
    policies: [policy([APPROVED, gate])],
    steps: [
      { patch: [APPROVE], call: DELETE, expect: { verdict: "Blocked", gate: "go" } },
      { create: [object], call: DELETE, expect: { verdict: "Allowed", gate: "approved" } },
      { patch: [WITHDRAW], call: DELETE, expect: { verdict: "Blocked", gate: "approved" } },
      { delete: [{ kind: "ConfigMap", name: "go" }], call: DELETE, expect: { gate: "go" } },
      {
        advance: "1s",
        create: [override],
        call: DELETE,
        expect: { verdict: "Allowed", reason: "Overridden" },
      },
      { advance: "168h", call: DELETE, expect: { verdict: "Blocked" } },
    ],
  });
  assert.deepEqual(found, Array(6).fill("passed"));
});

test("a wait counts from the instant at which the gates are met, also between the calls", async () => {
  const steps = [
    { call: UPGRADE, expect: { verdict: "Blocked", gate: "night", nextChange: "2026-11-21T22:00:00Z" } },
    {
      at: "2026-11-21T22:59:59Z",
      call: UPGRADE,
      expect: { gate: "soak", nextChange: "2026-11-21T23:00:00Z" },
    },
    { advance: "1s", call: UPGRADE, expect: { verdict: "Allowed" } },
  ];
  assert.deepEqual(await statuses({ policies: [policy([NIGHT, SOAK])], steps }), Array(3).fill("passed"));
});

test("a window without an edge changes never, and one whose edge is not found at an unknown time", async () => {
  const day = { schedule: "0 0 * * *", duration: "25h" };
  const minutes = [{ schedule: "*/2 * * * *", duration: "1m" }];
  const expected = { Never: { allow: [day] }, Unknown: { allow: minutes, deny: minutes } };
  for (const [nextChange, window] of Object.entries(expected)) {
    const gate = { name: "window", window: { timeZone: "UTC", ...window } };
    const steps = [{ call: UPGRADE, expect: { nextChange } }];
    assert.deepEqual(await statuses({ policies: [policy([gate])], steps }), ["passed"], nextChange);
  }
});

test("a wait begins again when a gate breaks, and for another target", async () => {
  const next = { kind: "Cluster", metadata: { name: "prod-1" }, spec: { topology: { version: "v1.36.0" } } };
  const steps = [
    { patch: [APPROVE], call: UPGRADE, expect: { gate: "soak", nextChange: "2026-11-21T13:00:00Z" } },
    { advance: "30m", patch: [WITHDRAW] },
    { patch: [APPROVE], call: UPGRADE, expect: { gate: "soak", nextChange: "2026-11-21T13:30:00Z" } },
    { advance: "10m", patch: [next], call: UPGRADE, expect: { nextChange: "2026-11-21T13:40:00Z" } },
  ];
  const found = await statuses({ policies: [policy([APPROVED, SOAK])], steps });
  assert.deepEqual(found, ["passed", "done", "passed", "passed"]);
});

test("an edit begins clocks anew: a wait where the rule waits for something else, a deadline where the mode changes", async () => {
  const edit = (spec: object): object => ({ kind: "HookPolicy", metadata: { name: "protect" }, spec });
  const rule = { name: "confirmed", hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"] };
  const deadline = { after: "4h", onExpiry: "KeepBlocking" };
  const present = { name: "approved", annotation: { key: "example.com/ok" } };
  const rules = [{ ...rule, deadline, until: [present, SOAK] }];
  const steps = [
    { patch: [APPROVE], call: UPGRADE, expect: { gate: "soak", nextChange: "2026-11-21T13:00:00Z" } },
    { advance: "30m", patch: [edit({ rules: [{ ...rules[0], message: "ask" }] })] },
    { call: UPGRADE, expect: { nextChange: "2026-11-21T13:00:00Z" } },
    { patch: [edit({ rules: [{ ...rules[0], until: [APPROVED, SOAK] }] })] },
    {
      call: UPGRADE,
      expect: { nextChange: "2026-11-21T13:30:00Z", message: "deadline 2026-11-21T16:00:00Z" },
    },
    { patch: [edit({ mode: "Audit" })] },
    {
      patch: [edit({ mode: "Enforce" })],
      call: UPGRADE,
      expect: { message: "deadline 2026-11-21T16:30:00Z" },
    },
    {
      advance: "30m",
      delete: [{ kind: "HookPolicy", name: "protect" }],
      call: UPGRADE,
      expect: { verdict: "Allowed" },
    },
    {
      create: [{ ...policy([]), spec: { rules } }],
      call: UPGRADE,
      expect: { nextChange: "2026-11-21T14:00:00Z" },
    },
  ];
  const found = await statuses({ policies: [{ ...policy([]), spec: { rules } }], steps });
  assert.deepEqual(
    found.filter((status) => status !== "done"),
    Array.from({ length: 6 }, () => "passed"),
  );
});

test("a deadline counts from the first block, and for a deletion from the deletionTimestamp's first look", async () => {
  const deadline = { after: "2h", onExpiry: "Allow" };
  const deleting = {
    kind: "Cluster",
    metadata: { name: "prod-1", deletionTimestamp: "2026-11-21T13:00:00Z" },
  };
  const upgrade = [
    { call: UPGRADE, expect: { verdict: "Blocked", nextChange: "2026-11-21T14:00:00Z" } },
    { advance: "2h", call: UPGRADE, expect: { verdict: "Allowed", reason: "DeadlineExpired" } },
  ];
  const deletion = [
    { advance: "1h", patch: [deleting] },
    { advance: "90m", call: DELETE, expect: { verdict: "Blocked", nextChange: "2026-11-21T15:00:00Z" } },
    { advance: "30m", call: DELETE, expect: { verdict: "Allowed", reason: "DeadlineExpired" } },
  ];
  const policies = [policy([APPROVED], { deadline })];
  assert.deepEqual(await statuses({ policies, steps: upgrade }), ["passed", "passed"]);
  assert.deepEqual(await statuses({ policies, steps: deletion }), ["done", "passed", "passed"]);
});

test("an expression that looks at the clock is looked at between the calls, as Cluster API asks", async () => {
  const gate = { name: "later", expression: "now >= timestamp('2026-11-21T13:00:00Z')" };
  const steps = [
    { call: UPGRADE, expect: { verdict: "Blocked", nextChange: "Unknown" } },
    { advance: "90m", call: UPGRADE, expect: { gate: "soak", nextChange: "2026-11-21T14:00:00Z" } },
  ];
  assert.deepEqual(await statuses({ policies: [policy([gate, SOAK])], steps }), ["passed", "passed"]);
});

test("a call comes from the version that it says, else from the one that the Cluster shows, else from an unknown one", async () => {
  const policies = [policy([{ name: "from", expression: "request.fromKubernetesVersion == 'v1.34.0'" }])];
  const { fromKubernetesVersion: _, ...call } = UPGRADE;
  const status = { controlPlane: { versions: [{ version: "v1.34.0" }] } };
  const steps = [
    { call: UPGRADE, expect: { verdict: "Allowed" } },
    { call, expect: { verdict: "NotEvaluable", message: "does not show request.fromKubernetesVersion" } },
    {
      patch: [{ kind: "Cluster", metadata: { name: "prod-1" }, status }],
      call,
      expect: { verdict: "Allowed" },
    },
  ];
  assert.deepEqual(await statuses({ policies, steps }), ["passed", "passed", "passed"]);
});

test("what was asked before counts, with its timers", async () => {
  const asked = [
    {
      ...UPGRADE,
      firstAsked: "2026-11-21T10:00:00Z",
      timers: [{ policy: "protect", rule: "confirmed", blockedSince: "2026-11-21T11:00:00Z" }],
    },
  ];
  const deadline = { after: "2h", onExpiry: "KeepBlocking" };
  const steps = [{ call: UPGRADE, expect: { nextChange: "2026-11-21T13:00:00Z" } }];
  assert.deepEqual(await statuses({ policies: [policy([APPROVED], { deadline })], asked, steps }), [
    "passed",
  ]);
});

test("an operation that is not wanted any more begins again when it is wanted again", async () => {
  const want = (version: string): object => ({
    kind: "Cluster",
    metadata: { name: "prod-1" },
    spec: { topology: { version } },
  });
  const steps = [
    { call: UPGRADE, expect: { nextChange: "2026-11-21T14:00:00Z" } },
    { advance: "30m", patch: [want("v1.36.0")] },
    {
      advance: "30m",
      patch: [want("v1.35.0")],
      call: UPGRADE,
      expect: { nextChange: "2026-11-21T15:00:00Z" },
    },
  ];
  const deadline = { after: "2h", onExpiry: "Allow" };
  const found = await statuses({ policies: [policy([APPROVED], { deadline })], steps });
  assert.deepEqual(found, ["passed", "done", "passed"]);
});

test("an operation of a Cluster that is gone is forgotten", async () => {
  const deadline = { after: "2h", onExpiry: "Allow" };
  const steps = [
    { call: UPGRADE, expect: { nextChange: "2026-11-21T14:00:00Z" } },
    { advance: "1h", delete: [{ kind: "Cluster", name: "prod-1" }] },
    { create: [CLUSTER], call: UPGRADE, expect: { nextChange: "2026-11-21T15:00:00Z" } },
  ];
  const found = await statuses({ policies: [policy([APPROVED], { deadline })], steps });
  assert.deepEqual(found, ["passed", "done", "passed"]);
});

test("another Cluster that has the name begins its own operations", async () => {
  const deadline = { after: "2h", onExpiry: "Allow" };
  const other = { kind: "Cluster", metadata: { name: "prod-1", uid: "uid-2" } };
  const held = { name: "hookpolicy_held_clusters", value: 0 };
  const steps = [
    { call: UPGRADE, expect: { nextChange: "2026-11-21T14:00:00Z" } },
    { advance: "1h", patch: [other], metrics: [held] },
    { call: UPGRADE, expect: { nextChange: "2026-11-21T15:00:00Z" } },
  ];
  const found = await statuses({ policies: [policy([APPROVED], { deadline })], steps });
  assert.deepEqual(found, ["passed", "passed", "passed"]);
});

test("a timeline tells every span of the verdicts that it names, and remembers nothing", async () => {
  const timeline = { ...UPGRADE, to: "2026-11-23T12:00:00Z" };
  const nights = [
    { verdict: "Allowed", from: "2026-11-21T22:00:00Z", to: "2026-11-22T02:00:00Z" },
    { verdict: "Allowed", from: "2026-11-22T22:00:00Z", to: "2026-11-23T02:00:00+00:00" },
  ];
  const days = [
    { verdict: "Blocked", to: "2026-11-21T22:00:00Z" },
    { verdict: "Blocked", from: "2026-11-22T02:00:00Z", to: "2026-11-22T22:00:00Z" },
    { verdict: "Blocked", from: "2026-11-23T02:00:00Z" },
  ];
  const found = await statuses({
    policies: [policy([NIGHT])],
    steps: [
      { timeline: { ...timeline, expect: nights } },
      { timeline: { ...timeline, expect: [...days, ...nights] } },
      { timeline: { ...timeline, expect: nights.slice(1) } },
      { timeline: { ...timeline, expect: [...nights, { verdict: "Observed" }] } },
      { timeline: { ...timeline, expect: [{ verdict: "Allowed" }] } },
    ],
  });
  const span = (a: string, b: string): string =>
    `timeline Allowed from 2026-11-${a}:00:00Z to 2026-11-${b}:00:00Z`;
  assert.deepEqual(found, [
    "passed",
    "passed",
    `failed: ${span("21T22", "22T02")}`,
    "failed: timeline -",
    `failed: ${span("21T22", "22T02")}: ${span("22T22", "23T02")}: timeline -`,
  ]);
});

test("an Audit policy would block, and one that only observes sees", async () => {
  const audit = {
    ...policy([APPROVED]),
    spec: { mode: "Audit", rules: [{ name: "r", hooks: ["BeforeClusterDelete"], until: [APPROVED] }] },
  };
  const observer = {
    ...policy([]),
    metadata: { namespace: "team-a", name: "trail" },
    spec: { rules: [{ name: "seen", hooks: ["BeforeClusterUpgrade"] }] },
  };
  const found = await statuses({
    policies: [audit, observer],
    steps: [
      {
        call: DELETE,
        expect: {
          verdict: "WouldBlock",
          policy: "HookPolicy team-a/protect",
          gate: "approved",
          retryAfterSeconds: 0,
          message: "^$",
        },
      },
      { call: UPGRADE, expect: { verdict: "Observed", policy: "trail", rule: "seen", reason: "Observed" } },
    ],
  });
  assert.deepEqual(found, ["passed", "passed"]);
});

test("a call about another version is the owner's edit of spec.topology.version, and is remembered", async () => {
  const newest = { name: "tested", version: { range: ">=1.36" } };
  const wanted = {
    name: "wanted",
    expression: "cluster.topology.version == 'v1.36.0'",
  };
  const held = [policy([SOAK, wanted, newest], { hooks: ["BeforeClusterUpgrade"] })];
  const to = { ...UPGRADE, toKubernetesVersion: "v1.36.0" };
  const timeline = { ...to, toKubernetesVersion: "v1.37.0", to: "2026-11-22T12:00:00Z" };
  const steps = [
    { timeline: { ...timeline, expect: [{ verdict: "Blocked" }] } },
    { call: UPGRADE, expect: { gate: "wanted" } },
    { call: to, expect: { gate: "soak" } },
    { advance: "1h", call: UPGRADE, expect: { verdict: "Allowed" } },
  ];
  assert.deepEqual(await statuses({ policies: held, steps }), ["passed", "passed", "passed", "passed"]);
  const asked = [{ ...to, firstAsked: "2026-11-21T10:00:00Z" }];
  const [first] = await runSteps({
    policies: held,
    asked,
    steps: [{ call: UPGRADE, expect: { gate: "soak" } }],
  });
  assert.equal(first?.status, "passed");
});

test("a call about the deletion of a Cluster leaves its other operations and their clocks alone", async () => {
  const steps = [
    { call: UPGRADE, expect: { verdict: "Blocked", nextChange: "2026-11-21T13:00:00Z" } },
    { advance: "30m", call: DELETE, expect: { nextChange: "2026-11-21T13:30:00Z" } },
    { advance: "30m", call: UPGRADE, expect: { verdict: "Allowed" } },
    { advance: "30m", call: DELETE, expect: { verdict: "Allowed" } },
  ];
  assert.deepEqual(await statuses({ policies: [policy([SOAK])], steps }), Array(4).fill("passed"));
});

test("a Cluster is being deleted since the first call of its deletion", async () => {
  const deleted = {
    name: "deleted",
    expression: "now - cluster.metadata.deletionTimestamp >= duration('1h')",
  };
  const verdicts = ["Blocked", "Blocked", "Allowed"];
  const steps = verdicts.map((verdict) => ({ call: DELETE, expect: { verdict }, advance: "30m" }));
  assert.deepEqual(await statuses({ policies: [policy([deleted])], steps }), Array(3).fill("passed"));
});

test("a gate that looks at Clusters sees that the Cluster of the call is being deleted", async () => {
  const clusters = [CLUSTER, { ...CLUSTER, metadata: { namespace: "team-a", name: "prod-2" } }];
  const object = { apiVersion: CLUSTER.apiVersion, kind: "Cluster", selector: {}, minCount: 2 };
  const steps = [
    { call: UPGRADE, expect: { verdict: "Allowed" } },
    { call: DELETE, expect: { verdict: "Blocked", reason: "WaitingForObject" } },
  ];
  const found = await statuses({ policies: [policy([{ name: "two", object }])], clusters, steps });
  assert.deepEqual(found, ["passed", "passed"]);
});

test("a call writes on its Cluster nothing that an expression reads at another hook", async () => {
  const untouched = {
    name: "untouched",
    expression: "!has(cluster.metadata.deletionTimestamp) && size(cluster.status.conditions) == 0",
  };
  const steps = [UPGRADE, DELETE, UPGRADE].map((call) => {
    return { call, expect: { verdict: call === DELETE ? "Blocked" : "Allowed" } };
  });
  assert.deepEqual(await statuses({ policies: [policy([untouched])], steps }), Array(3).fill("passed"));
});
