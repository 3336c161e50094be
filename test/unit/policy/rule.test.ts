/** What one rule says over the time of an operation: match conditions, waits and deadlines. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec, MatchCondition, RuleSpec } from "../../../src/api/hook-policy.ts";
import type { Decision, RuleTrace } from "../../../src/policy/decision.ts";
import type { World } from "../../../src/policy/world.ts";
import { APPROVED, at, cluster, gated, hookPolicy, NOW, Operation, rule, period } from "../builders.ts";

const approval: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const onNamespace: GateSpec = { name: "thawed", label: { key: "thawed", from: "Namespace" } };
const soak: GateSpec = { name: "soak", wait: { duration: "10m" } };
const approved: Partial<World> = { cluster: cluster({ annotations: { [APPROVED]: "" } }) };
const namespaceUnknown: Partial<World> = { namespace: undefined };

const first = ({ trace }: Decision): RuleTrace | undefined => trace[0]?.rules[0];
const brief = (decision: Decision): unknown[] => [decision.verdict, first(decision)?.reason];

describe("match conditions", () => {
  const condition = (name: string, expression: string): MatchCondition => ({ name, expression });
  const yes = condition("yes", "cluster.metadata.name == 'prod-1'");
  const no = condition("no", "cluster.metadata.name.startsWith('canary-')");
  const fails = condition("fails", "cluster.metadata.labels['missing'] == 'x'");
  const cases: Record<string, { conditions: MatchCondition[]; want: unknown[] }> = {
    "that are all true let the rule apply": { conditions: [yes], want: ["Blocked", "WaitingForAnnotation"] },
    "of which one is false skip the rule": {
      conditions: [yes, no],
      want: ["Allowed", "MatchConditionFalse"],
    },
    "of which one is false skip it beside one that fails before": {
      conditions: [fails, no],
      want: ["Allowed", "MatchConditionFalse"],
    },
    "of which one is false skip it beside one that fails after": {
      conditions: [no, fails],
      want: ["Allowed", "MatchConditionFalse"],
    },
    "that fail make the rule not evaluable": {
      conditions: [yes, fails],
      want: ["NotEvaluable", "MatchConditionError"],
    },
  };
  for (const [name, { conditions, want }] of Object.entries(cases)) {
    test(name, () => {
      const decision = new Operation([gated([approval], { matchConditions: conditions })]).at(NOW);
      assert.deepEqual(brief(decision), want);
      assert.equal(decision.holds, want[0] !== "Allowed");
    });
  }

  test("that fail are named with the reason, and release under failurePolicy Ignore", () => {
    const rules = [rule({ matchConditions: [fails] })];
    const { message } = new Operation([hookPolicy({ rules })]).at(NOW);
    assert.match(
      message,
      /rule confirmed-delete is not evaluable: match condition fails cannot be evaluated \(/,
    );
    const ignored = new Operation([hookPolicy({ rules, failurePolicy: "Ignore" })]).at(NOW);
    assert.deepEqual([ignored.verdict, ignored.holds], ["NotEvaluable", false]);
  });

  test("that fail do not make a rule hold that only observes", () => {
    const { until: _, ...observe } = rule({ matchConditions: [fails] });
    const decision = new Operation([hookPolicy({ rules: [observe] })]).at(NOW);
    assert.deepEqual([decision.verdict, decision.holds], ["NotEvaluable", false]);
  });

  test("need the Namespace only if they look at it", () => {
    const looks = condition("looks", "namespaceObject.metadata.name == 'team-a'");
    const unknown = new Operation([gated([approval], { matchConditions: [looks] })]).at(
      NOW,
      namespaceUnknown,
    );
    assert.deepEqual(brief(unknown), ["NotEvaluable", "MatchConditionError"]);
    const known = new Operation([gated([approval], { matchConditions: [yes] })]).at(NOW, namespaceUnknown);
    assert.equal(known.verdict, "Blocked");
  });

  test("that look at the clock can change at any time", () => {
    const late = condition("late", "now > timestamp('2026-11-21T13:00:00Z')");
    const operation = new Operation([gated([approval], { matchConditions: [late] })]);
    const before = operation.at(NOW);
    assert.deepEqual([before.verdict, first(before)?.changesAt], ["Allowed", "Unknown"]);
    assert.equal(operation.at(at("+2h")).verdict, "Blocked");
  });
});

describe("a wait", () => {
  test("alone counts from the first question", () => {
    const operation = new Operation([gated([soak])]);
    const decision = operation.at(NOW);
    assert.deepEqual(brief(decision), ["Blocked", "WaitPending"]);
    assert.match(decision.message, /: gate soak waits for 10m to pass \(at 2026-11-21T12:10:00Z\)$/);
    assert.deepEqual(first(decision)?.changesAt, at("+10m"));
    assert.equal(operation.at(at("+599s")).holds, true);
    assert.equal(operation.at(at("+10m")).holds, false);
  });

  test("alone counts from when it is evaluated for the first time, however long ago the operation began", () => {
    const operation = new Operation([gated([soak])]);
    operation.state = { firstAsked: at("-1h"), rules: new Map() };
    assert.equal(operation.at(NOW).verdict, "Blocked");
  });

  test("beside gates counts from when all of them are met", () => {
    const operation = new Operation([gated([approval, soak])]);
    const before = operation.at(NOW);
    assert.equal(first(before)?.gates[1]?.reason, "WaitNotStarted");
    assert.match(before.message, /gate soak waits for 10m to pass once all other gates are met/);
    assert.equal(operation.at(at("+1h"), approved).verdict, "Blocked");
    assert.equal(operation.at(at("+4199s"), approved).verdict, "Blocked");
    assert.equal(operation.at(at("+70m"), approved).verdict, "Allowed");
  });

  test("begins again after a break, however short", () => {
    const operation = new Operation([gated([approval, soak])]);
    operation.at(NOW, approved);
    operation.at(at("+9m"));
    operation.at(at("+10m"), approved);
    assert.equal(operation.at(at("+19m"), approved).holds, true);
    assert.equal(operation.at(at("+20m"), approved).holds, false);
  });

  for (const [what, broken] of Object.entries({
    "a gate that cannot be evaluated": namespaceUnknown,
    "a Namespace without its label": {},
  })) {
    test(`begins again after ${what}`, () => {
      const thawed = { namespace: { metadata: { ...NAMESPACE, labels: { thawed: "" } } } };
      const operation = new Operation([gated([onNamespace, soak])]);
      operation.at(NOW, thawed);
      assert.equal(operation.at(at("+9m"), broken).holds, true);
      assert.equal(operation.at(at("+10m"), thawed).holds, true);
    });
  }

  test("begins again after a match condition was false", () => {
    const matchConditions = [{ name: "c", expression: "!('canary' in cluster.metadata.labels)" }];
    const operation = new Operation([gated([approval, soak], { matchConditions })]);
    const canary = { cluster: cluster({ annotations: { [APPROVED]: "" }, labels: { canary: "" } }) };
    operation.at(NOW, approved);
    assert.equal(operation.at(at("+9m"), canary).holds, false);
    assert.equal(operation.at(at("+10m"), approved).holds, true);
  });

  test("is as long as the longest of several", () => {
    const operation = new Operation([gated([soak, { name: "longer", wait: { duration: "1h" } }])]);
    operation.at(NOW);
    assert.equal(operation.at(at("+59m")).holds, true);
    assert.equal(operation.at(at("+60m")).holds, false);
  });

  test("rounds up to the second, as a status does", () => {
    const operation = new Operation([gated([soak])]);
    const start = new Date(NOW.getTime() + 1);
    operation.at(start);
    assert.equal(operation.at(new Date(NOW.getTime() + 600_999)).holds, true);
    assert.equal(operation.at(new Date(NOW.getTime() + 601_000)).holds, false);
  });

  test("that cannot begin because a gate cannot be evaluated blocks, also under failurePolicy Ignore", () => {
    const rules = [rule({ until: [onNamespace, soak] })];
    const decision = new Operation([hookPolicy({ rules, failurePolicy: "Ignore" })]).at(
      NOW,
      namespaceUnknown,
    );
    assert.deepEqual([...brief(decision), decision.holds], ["Blocked", "WaitNotStarted", true]);
    assert.match(
      decision.message,
      /gate thawed cannot be evaluated \(the Namespace is not known\), gate soak waits/,
    );
  });
});

const NAMESPACE = { name: "team-a", uid: "uid-team-a", resourceVersion: "1" };

describe("a deadline", () => {
  const allow: Partial<RuleSpec> = { deadline: { after: "1h", onExpiry: "Allow" } };
  const keep: Partial<RuleSpec> = { deadline: { after: "1h", onExpiry: "KeepBlocking" } };

  test("releases the operation when it passes, and says so before", () => {
    const operation = new Operation([gated([approval], allow)]);
    const before = operation.at(NOW);
    assert.match(before.message, /, this rule releases it at 2026-11-21T13:00:00Z$/);
    assert.deepEqual(first(before)?.changesAt, at("+1h"));
    assert.equal(operation.at(at("+3599s")).holds, true);
    assert.deepEqual(brief(operation.at(at("+1h"))), ["Allowed", "DeadlineExpired"]);
  });

  test("with KeepBlocking only tells", () => {
    const operation = new Operation([gated([approval], keep)]);
    assert.match(operation.at(NOW).message, /, deadline 2026-11-21T13:00:00Z$/);
    const after = operation.at(at("+2h"));
    assert.equal(after.holds, true);
    assert.match(after.message, /, the deadline passed at 2026-11-21T13:00:00Z$/);
    assert.equal(first(after)?.changesAt, undefined);
  });

  test("counts from the rule's first block, not from the first question", () => {
    const operation = new Operation([gated([approval], allow)]);
    assert.equal(first(operation.at(NOW, approved))?.deadlineAt, undefined);
    operation.at(at("+30m"));
    assert.equal(operation.at(at("+1h")).holds, true);
    assert.equal(operation.at(at("+90m")).holds, false);
  });

  test("is not counted again after an interruption of the hold", () => {
    const operation = new Operation([gated([approval], allow)]);
    operation.at(NOW);
    assert.equal(operation.at(at("+30m"), approved).holds, false);
    assert.equal(operation.at(at("+45m")).holds, true);
    assert.equal(operation.at(at("+1h")).holds, false);
  });

  test("does not count from when the rule was not evaluable", () => {
    const operation = new Operation([gated([onNamespace], allow)]);
    operation.at(NOW, namespaceUnknown);
    assert.equal(operation.at(at("+30m")).holds, true);
    assert.equal(operation.at(at("+1h")).holds, true);
    assert.equal(operation.at(at("+90m")).holds, false);
  });

  const unevaluable: Record<string, GateSpec[]> = {
    "none of whose gates can be evaluated": [onNamespace],
    "with a gate that cannot be evaluated beside one that does not hold": [onNamespace, approval],
    "that waits for a gate that cannot be evaluated": [onNamespace, soak],
  };
  for (const [what, until] of Object.entries(unevaluable)) {
    test(`never releases a rule ${what}`, () => {
      const operation = new Operation([gated(until, allow)]);
      operation.at(NOW);
      const held = operation.at(at("+30m"), namespaceUnknown);
      assert.doesNotMatch(held.message, /releases it/);
      assert.equal(first(held)?.deadlineReleases ?? false, false);
      assert.equal(operation.at(at("+2h"), namespaceUnknown).holds, true);
      assert.equal(operation.at(at("+3h")).holds, false);
    });
  }

  test("of one rule releases no other one", () => {
    const rules = [rule({ ...allow }), rule({ name: "second" })];
    const operation = new Operation([hookPolicy({ rules })]);
    operation.at(NOW);
    const after = operation.at(at("+2h"));
    assert.equal(after.holds, true);
    assert.doesNotMatch(after.message, /confirmed-delete/);
  });

  test("counts while a wait runs", () => {
    const operation = new Operation([gated([{ name: "soak", wait: { duration: "2h" } }], allow)]);
    operation.at(NOW);
    assert.deepEqual(brief(operation.at(at("+1h"))), ["Allowed", "DeadlineExpired"]);
  });
});

describe("the retry", () => {
  const wait = (duration: string, retryAfterSeconds: number): number => {
    const policy = gated([{ name: "soak", wait: { duration } }], { retryAfterSeconds });
    return new Operation([policy]).at(NOW).retryAfterSeconds;
  };

  test("is the rule's own while nothing changes earlier", () => assert.equal(wait("1h", 60), 60));
  test("ends with the wait where that is earlier", () => assert.equal(wait("7s", 60), 7));
  test("is at least a second", () => {
    const operation = new Operation([gated([{ name: "soak", wait: { duration: "10s" } }])]);
    operation.at(NOW);
    assert.equal(operation.at(new Date(at("+10s").getTime() - 1)).retryAfterSeconds, 1);
  });
  test("ends with the deadline where that is earlier", () => {
    const deadline = { after: "30s", onExpiry: "Allow" } as const;
    const operation = new Operation([gated([approval], { deadline, retryAfterSeconds: 300 })]);
    assert.equal(operation.at(NOW).retryAfterSeconds, 30);
  });
  test("does not end with what only closes", () => {
    const window = { allow: [period("-1h", "+20s")] };
    const policy = gated([approval, { name: "open", window }], { retryAfterSeconds: 300 });
    assert.equal(new Operation([policy]).at(NOW).retryAfterSeconds, 300);
  });
});
