/** What decide() answers, case by case. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec, RuleSpec } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import type { HookCall } from "../../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { decide } from "../../../src/policy/decide.ts";
import type { Decision } from "../../../src/policy/decision.ts";
import { TOO_LARGE } from "../../../src/views/too-large.ts";
import {
  APPROVED,
  cluster,
  clusterHookPolicy,
  compiled,
  hookPolicy,
  namespace,
  NOW,
  rule,
  world,
} from "../builders.ts";

const DELETE: HookCall = { hook: "BeforeClusterDelete" };
const UPGRADE: HookCall = {
  hook: "BeforeClusterUpgrade",
  fromKubernetesVersion: "v1.34.0",
  toKubernetesVersion: "v1.35.0+k3s1",
};

function judge(policies: PolicyObject[], on: Cluster = cluster(), call: HookCall = DELETE): Decision {
  return decide(policies.map(compiled), world({ cluster: on }), call, NOW);
}

const annotated = (value: string): Cluster => cluster({ annotations: { [APPROVED]: value } });
const gate = (annotation: object): RuleSpec =>
  rule({ until: [{ name: "approved", annotation: { key: APPROVED, ...annotation } }] });

describe("an annotation gate", () => {
  const cases: Record<string, { annotation?: object; on?: Cluster; call?: HookCall; verdict: string }> = {
    "blocks while the annotation is absent": { verdict: "Blocked" },
    "holds with any value when only the key is named": { on: annotated(""), verdict: "Allowed" },
    "holds when the value is equal": {
      annotation: { value: "yes" },
      on: annotated("yes"),
      verdict: "Allowed",
    },
    "blocks when the value differs": {
      annotation: { value: "yes" },
      on: annotated("no"),
      verdict: "Blocked",
    },
    "blocks when the value differs in case": {
      annotation: { value: "yes" },
      on: annotated("YES"),
      verdict: "Blocked",
    },
    "blocks when the key is only a label": {
      on: cluster({ labels: { [APPROVED]: "true" } }),
      verdict: "Blocked",
    },
    "binds an approval to the Cluster's uid": {
      annotation: { valueFrom: "ClusterUID" },
      on: annotated("uid-prod-1"),
      verdict: "Allowed",
    },
    "refuses an approval for another uid": {
      annotation: { valueFrom: "ClusterUID" },
      on: annotated("uid-of-the-cluster-before"),
      verdict: "Blocked",
    },
    "binds an approval to the Cluster's name": {
      annotation: { valueFrom: "ClusterName" },
      on: annotated("prod-1"),
      verdict: "Allowed",
    },
    "is not evaluable when the call has no version": {
      annotation: { valueFrom: "TargetVersion" },
      on: annotated("v1.35.0"),
      verdict: "NotEvaluable",
    },
    "does not find a key on every object's prototype": {
      annotation: { key: "constructor" },
      on: annotated("true"),
      verdict: "Blocked",
    },
  };
  for (const [name, { annotation = {}, on, call, verdict }] of Object.entries(cases)) {
    test(name, () => {
      // Compiled without validation where the CRD would refuse the combination.
      const spec = gate(annotation);
      const decision = judge([hookPolicy({ rules: [spec] })], on, call);
      assert.equal(decision.verdict, verdict);
      assert.equal(decision.retryAfterSeconds > 0, verdict !== "Allowed");
      assert.equal(decision.message === "", verdict === "Allowed");
    });
  }
});

describe("a gate on an upgrade", () => {
  const upgradeRule = (until: RuleSpec["until"]): RuleSpec =>
    rule({ hooks: ["BeforeClusterUpgrade"], ...(until && { until }) });

  test("binds an approval to the version that the upgrade goes to", () => {
    const rules = [upgradeRule([{ name: "v", annotation: { key: APPROVED, valueFrom: "TargetVersion" } }])];
    assert.equal(judge([hookPolicy({ rules })], annotated("v1.35.0+k3s1"), UPGRADE).verdict, "Allowed");
    assert.equal(judge([hookPolicy({ rules })], annotated("v1.34.0"), UPGRADE).verdict, "Blocked");
  });

  test("writes a version with + as a label value with _", () => {
    const rules = [upgradeRule([{ name: "v", label: { key: "approved", valueFrom: "TargetVersion" } }])];
    const on = cluster({ labels: { approved: "v1.35.0_k3s1" } });
    assert.equal(judge([hookPolicy({ rules })], on, UPGRADE).verdict, "Allowed");
  });

  test("does not speak about another hook", () => {
    const rules = [upgradeRule([{ name: "approved", annotation: { key: APPROVED } }])];
    assert.equal(judge([hookPolicy({ rules })]).verdict, "Allowed");
  });
});

describe("a gate on the Namespace", () => {
  const policy = hookPolicy({
    rules: [
      rule({ until: [{ name: "freeze", label: { key: "thawed", from: "Namespace", value: "true" } }] }),
    ],
  });

  test("looks at the Namespace and not at the Cluster", () => {
    assert.equal(judge([policy], cluster({ labels: { thawed: "true" } })).verdict, "Blocked");
    const thawed = world({ namespace: namespace({ labels: { thawed: "true" } }) });
    assert.equal(decide([compiled(policy)], thawed, DELETE, NOW).verdict, "Allowed");
  });

  test("is not evaluable while the Namespace is not known, and holds", () => {
    const decision = decide([compiled(policy)], world({ namespace: undefined }), DELETE, NOW);
    assert.equal(decision.verdict, "NotEvaluable");
    assert.ok(decision.retryAfterSeconds > 0);
  });
});

describe("which policies speak", () => {
  const production = { clusterSelector: { matchLabels: { tier: "production" } } };
  const cases: Record<string, { policy: PolicyObject; on?: Cluster; verdict: string }> = {
    "a HookPolicy does not reach another namespace": {
      policy: hookPolicy({}, { namespace: "team-b" }),
      verdict: "Allowed",
    },
    "a selector leaves out what it does not select": { policy: hookPolicy(production), verdict: "Allowed" },
    "a selector takes what it selects": {
      policy: hookPolicy(production),
      on: cluster({ labels: { tier: "production" } }),
      verdict: "Blocked",
    },
    "NotIn selects a Cluster without the label": {
      policy: hookPolicy({
        clusterSelector: { matchExpressions: [{ key: "tier", operator: "NotIn", values: ["dev"] }] },
      }),
      verdict: "Blocked",
    },
    "a ClusterHookPolicy with {} reaches every namespace": {
      policy: clusterHookPolicy(),
      verdict: "Blocked",
    },
    "a ClusterHookPolicy selects by the Namespace's labels": {
      policy: clusterHookPolicy({ namespaceSelector: { matchLabels: { team: "b" } } }),
      verdict: "Allowed",
    },
  };
  for (const [name, { policy, on, verdict }] of Object.entries(cases)) {
    test(name, () => assert.equal(judge([policy], on).verdict, verdict));
  }

  test("a ClusterHookPolicy holds while the Namespace is not known", () => {
    const policy = compiled(clusterHookPolicy({ namespaceSelector: { matchLabels: { team: "b" } } }));
    const decision = decide([policy], world({ namespace: undefined }), DELETE, NOW);
    assert.equal(decision.verdict, "NotEvaluable");
    assert.ok(decision.retryAfterSeconds > 0);
  });
});

describe("several policies", () => {
  test("all must agree", () => {
    const other = hookPolicy(
      { rules: [rule({ until: [{ name: "backup", label: { key: "backed-up" } }] })] },
      { name: "backup", uid: "b" },
    );
    const decision = judge([hookPolicy(), other], annotated("true"));
    assert.equal(decision.verdict, "Blocked");
    assert.match(
      decision.message,
      /^HookPolicy team-a\/backup, rule confirmed-delete: gate backup waits for label backed-up/,
    );
    assert.doesNotMatch(decision.message, /protect/);
  });

  test("the shortest retry of those that hold wins", () => {
    const slow = hookPolicy({ rules: [rule({ retryAfterSeconds: 300 })] }, { name: "a", uid: "a" });
    const quick = hookPolicy({ rules: [rule({ retryAfterSeconds: 7 })] }, { name: "b", uid: "b" });
    const idle = hookPolicy(
      {
        rules: [
          gate({ key: "there" }),
          rule({ name: "x", retryAfterSeconds: 5, hooks: ["BeforeClusterCreate"] }),
        ],
      },
      { name: "c", uid: "c" },
    );
    const on = cluster({ annotations: { there: "" } });
    assert.equal(judge([slow, quick, idle], on).retryAfterSeconds, 7);
  });

  test("an Audit policy computes everything and changes nothing", () => {
    const decision = judge([hookPolicy({ mode: "Audit" })]);
    assert.equal(decision.verdict, "WouldBlock");
    assert.equal(decision.retryAfterSeconds, 0);
    assert.equal(decision.message, "");
    assert.equal(decision.trace[0]?.verdict, "WouldBlock");
  });

  test("an Audit policy does not soften an Enforce policy", () => {
    const audit = hookPolicy({ mode: "Audit" }, { name: "audit", uid: "audit" });
    const decision = judge([audit, hookPolicy()]);
    assert.equal(decision.verdict, "Blocked");
    assert.doesNotMatch(decision.message, /audit/);
  });

  test("a rule without until observes", () => {
    const { until: _, ...observe } = rule();
    const decision = judge([hookPolicy({ rules: [observe] })]);
    assert.deepEqual([decision.verdict, decision.retryAfterSeconds], ["Observed", 0]);
  });
});

describe("a policy that cannot be evaluated", () => {
  const broken = {
    name: "broken",
    hooks: ["BeforeClusterDelete"],
    until: [{ name: "x", sundial: {} }],
  } as unknown as RuleSpec;

  test("holds what its rule names and says why", () => {
    const decision = judge([hookPolicy({ rules: [broken] })]);
    assert.equal(decision.verdict, "NotEvaluable");
    assert.match(decision.message, /rule broken is not evaluable: spec\.rules\[0\]\.until\[0\]/);
  });

  test("does not hold other hooks", () => {
    assert.equal(judge([hookPolicy({ rules: [broken] })], cluster(), UPGRADE).verdict, "Allowed");
  });

  test("does not make its other rules not evaluable", () => {
    const rules = [broken, rule({ name: "fine", hooks: ["BeforeClusterUpgrade"] })];
    assert.equal(judge([hookPolicy({ rules })], annotated("yes"), UPGRADE).verdict, "Allowed");
    assert.equal(judge([hookPolicy({ rules })], cluster(), UPGRADE).verdict, "Blocked");
  });

  test("releases under failurePolicy Ignore, and says so", () => {
    const rules = [rule({ until: [{ name: "x", expression: "cluster.metadata.name ==" }] })];
    const decision = judge([hookPolicy({ rules, failurePolicy: "Ignore" })]);
    assert.deepEqual([decision.verdict, decision.retryAfterSeconds], ["NotEvaluable", 0]);
  });

  test("holds under failurePolicy Ignore, too, for a field or value that a newer version may know", () => {
    const value = rule({ deadline: { after: "1h", onExpiry: "Shrug" as "Allow" } });
    for (const unknown of [broken, value]) {
      const { holds, trace } = judge([hookPolicy({ rules: [unknown], failurePolicy: "Ignore" })]);
      assert.deepEqual([holds, trace[0]?.rules[0]?.reason], [true, "UnknownField"]);
    }
  });

  test("still blocks under failurePolicy Ignore when a gate that can be evaluated is not met", () => {
    const both = rule({
      until: [
        { name: "approved", annotation: { key: APPROVED } },
        { name: "thawed", label: { key: "thawed", from: "Namespace" } },
      ],
    });
    const policy = compiled(hookPolicy({ rules: [both], failurePolicy: "Ignore" }));
    const decision = decide([policy], world({ namespace: undefined }), DELETE, NOW);
    assert.equal(decision.verdict, "Blocked");
    assert.ok(decision.retryAfterSeconds > 0);
  });

  const failing: GateSpec = { name: "failing", expression: "cluster.metadata.labels['none'] == 'x'" };
  const stored: GateSpec = { name: "stored", object: { apiVersion: "v1", kind: "ConfigMap", name: "go" } };
  const either: GateSpec = { name: "either", anyOf: [failing, stored] };
  for (const [where, until] of Object.entries({
    "a gate": [failing, stored],
    "a member of a gate": [either],
  })) {
    test(`holds under failurePolicy Ignore for ${where} that holds anyway, whatever else is not evaluable`, () => {
      const policy = compiled(hookPolicy({ rules: [rule({ until })], failurePolicy: "Ignore" }));
      const tooLarge = { ok: false, reason: TOO_LARGE, message: "the objects are too large" } as const;
      const { holds, trace } = decide([policy], world({ objects: { find: () => tooLarge } }), DELETE, NOW);
      assert.deepEqual([holds, trace[0]?.rules[0]?.reason], [true, TOO_LARGE]);
    });
  }

  const wrecks: Record<string, object> = {
    "without rules": { rules: [] },
    "with rules that are not a list": { rules: "none" },
    "with a hook list that is not one": { rules: [{ name: "x", hooks: "all" }] },
    "with a selector that is not one": { clusterSelector: { matchLabels: { tier: 7 } } },
    "with a field that this version does not know": { exceptOn: "Friday" },
    "with a rule field that this version does not know": { rules: [{ ...rule(), unless: "canary" }] },
  };
  for (const [name, spec] of Object.entries(wrecks)) {
    test(`${name} holds rather than releases`, () => {
      const decision = judge([hookPolicy(spec)], annotated("true"));
      assert.equal(decision.verdict, "NotEvaluable");
      assert.ok(decision.retryAfterSeconds > 0);
    });
  }
});

describe("the message", () => {
  test("names policy, rule, gate and the command that releases the Cluster", () => {
    const rules = [
      rule({
        message: "ask #platform",
        until: [{ name: "approved", annotation: { key: APPROVED, valueFrom: "ClusterUID" } }],
      }),
    ];
    assert.equal(
      judge([hookPolicy({ rules })]).message,
      '"ask #platform", HookPolicy team-a/protect, rule confirmed-delete: gate approved waits for annotation ' +
        "hooks.example.com/delete-approved=uid-prod-1 on Cluster team-a/prod-1 (kubectl annotate " +
        "clusters.cluster.x-k8s.io -n team-a prod-1 hooks.example.com/delete-approved=uid-prod-1)",
    );
  });

  test("leaves out what the operator adds before the words of any author", () => {
    const closed = Array.from({ length: 4 }, (_, index) => {
      return { name: `g${index}`, annotation: { key: `hooks.example.com/${"k".repeat(60)}` } };
    });
    const names = ["one", "two", "three"];
    const rules = names.map((name) =>
      rule({ name, message: `ask ${name} ${"é".repeat(60)}`, until: closed }),
    );
    const { message } = judge([hookPolicy({ rules })]);
    assert.ok(Buffer.byteLength(message) <= 1024);
    for (const name of names)
      assert.ok(message.includes(`"ask ${name} ${"é".repeat(60)}", HookPolicy team-a/protect`));
    assert.match(
      message,
      /rule one: gate g0 waits for .*…; "ask two.*, rule two; "ask three .*, rule three$/,
    );
  });

  test("overwrites when another value is there, and never shows that value", () => {
    const { message } = judge([hookPolicy({ rules: [gate({ value: "yes" })] })], annotated("s3cret"));
    assert.match(message, /--overwrite/);
    assert.doesNotMatch(message, /s3cret/);
  });

  test("quotes what a shell would take apart", () => {
    const { message } = judge([hookPolicy({ rules: [gate({ value: "it's $HOME; rm -rf" })] })]);
    assert.ok(message.includes(`'${APPROVED}=it'\\''s $HOME; rm -rf'`), message);
  });

  test("is at most 1 KiB, then counts the rest", () => {
    const many = Array.from({ length: 40 }, (_, i) => hookPolicy({}, { name: `policy-${i}`, uid: `${i}` }));
    const { message } = judge(many);
    assert.ok(Buffer.byteLength(message) <= 1024, `${Buffer.byteLength(message)} bytes`);
    assert.match(message, /; and \d+ more$/);
    const shown = [...message.matchAll(/HookPolicy team-a\/policy-/g)].length;
    assert.equal(shown + Number(/and (\d+) more$/.exec(message)?.[1]), 40);
  });

  test("is cut between characters when a single one is too long", () => {
    const rules = [
      rule({
        until: Array.from({ length: 16 }, (_, i) => ({
          name: `g${i}`,
          annotation: { key: `k${i}`, value: "🐢".repeat(60) },
        })),
      }),
    ];
    const { message } = judge([hookPolicy({ rules })]);
    assert.ok(Buffer.byteLength(message) <= 1024);
    assert.ok(message.endsWith("…"));
    assert.ok(message.isWellFormed());
  });
});

test("the trace shows every policy, rule and gate with what was wanted and found", () => {
  const other = hookPolicy({}, { namespace: "team-b" });
  const { trace } = judge([hookPolicy({ rules: [gate({ value: "yes" })] }), other], annotated("no"));
  assert.deepEqual(
    trace.map(({ matched, verdict }) => [matched, verdict]),
    [
      [true, "Blocked"],
      [false, "Allowed"],
    ],
  );
  const found = trace[0]?.rules[0]?.gates[0];
  assert.equal(found?.wanted, `annotation ${APPROVED}=yes on Cluster team-a/prod-1`);
  assert.equal(found?.observed, 'present: "no"');
});
