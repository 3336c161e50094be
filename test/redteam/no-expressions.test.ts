/** What people are told has no CEL, whatever the gate: only `explain` shows expressions. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec, RuleSpec } from "../../src/api/hook-policy.ts";
import { heldBy } from "../../src/cli/fleet/held.ts";
import { heldJson, heldLines } from "../../src/cli/get/report.ts";
import { PLAIN } from "../../src/cli/terminal/colour.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import { compileRollout } from "../../src/rollouts/rollout.ts";
import { unmetGate } from "../../src/rollouts/promotion.ts";
import { cluster, clusterHookPolicy, heldAt, NOW, rule, UPGRADE, world } from "../unit/builders.ts";
import { hookRollout } from "../unit/rollouts/fixtures.ts";
import { CONFIG_MAP, Operators } from "./operators.ts";

const NOT_TRUE = "cluster.metadata.name == 'other' && 1 == 2";
const FAILS = "cluster.metadata.labels['tier'] == 'gold' && 1 == 1";
const NO_NAME = "cluster.metadata.annotations['backup'] + '-' + '1'";
const BROKEN = "cluster.metadata.name == ('other' && 1";
const UNREADABLE = "cluster.metadata.name 'other' == 'other'";
const OBJECT = { ...CONFIG_MAP, namespace: "platform" };

/** Not met, or not evaluable. Every kind is here, or the types do not check. */
const GATES: Readonly<
  Record<Exclude<keyof GateSpec, "name" | "message">, readonly Omit<GateSpec, "name">[]>
> = {
  annotation: [{ annotation: { key: "example.com/ok" } }],
  label: [{ label: { key: "example.com/ok", from: "Namespace" } }],
  expression: [NOT_TRUE, FAILS, BROKEN, UNREADABLE].map((expression) => ({ expression })),
  window: [{ window: { deny: [{ from: "2026-11-01T00:00:00Z", to: "2026-12-01T00:00:00Z" }] } }],
  version: [{ version: { range: "<1.0.0" } }],
  object: [
    ...[NOT_TRUE, "object.data['done'] == 'yes' && 1 == 1"].map((expression) => ({
      object: { ...OBJECT, selector: {}, expression },
    })),
    { object: { ...OBJECT, nameExpression: NO_NAME } },
  ],
  wait: [{ wait: { duration: "1h" } }],
  anyOf: [
    {
      anyOf: [
        { name: "x", expression: NOT_TRUE },
        { name: "y", expression: FAILS },
      ],
    },
  ],
};

const CASES = Object.entries(GATES).flatMap(([kind, gates]) =>
  gates.flatMap((gate, index) =>
    [undefined, "ask the platform team"].map((message): readonly [string, GateSpec] => [
      `${kind} ${index}${message === undefined ? "" : ", with a message"}`,
      { name: "g", ...gate, ...(message !== undefined && { message }) },
    ]),
  ),
);
/** "cluster.metadata.labels has no key" says what is missing: a path alone is no expression. */
const CEL = /==|&&|\|\||\['|cluster\.metadata\.name/;

function assertNoCel(texts: readonly unknown[]): void {
  assert.ok(texts.length > 0);
  for (const text of texts) assert.doesNotMatch(JSON.stringify(text), CEL);
}

/** The answer, the Events, the status with its conditions and rows, and what `get` makes of them. */
async function told(spec: RuleSpec): Promise<readonly unknown[]> {
  const policy: PolicyObject = clusterHookPolicy({ rules: [spec] });
  const held = heldAt("BeforeClusterUpgrade", cluster());
  const objects = [
    { metadata: { name: "a", namespace: "platform", uid: "a", resourceVersion: "1" }, raw: { data: {} } },
  ];
  const operators = new Operators({ policies: [policy], clusters: [held], objects, count: 1 });
  operators.settle();
  const { message = "" } = await operators.ask(0, UPGRADE, held);
  assert.notEqual(message, "", "it is held");
  const status = operators.statusOf(policy);
  const fleet = heldBy([{ ...policy, status }]);
  assert.equal(fleet.held.length, 1);
  const view = { now: NOW, by: "operation", program: "hookpolicy", connection: "", colour: PLAIN } as const;
  operators.stop();
  return [message, ...operators.told, status, heldJson(fleet, NOW), heldLines(fleet, view).map(String)];
}

describe("no expression is in answers, conditions, Events or rows of get", () => {
  for (const [name, gate] of CASES)
    test(name, async () => {
      const spec = rule({ hooks: ["BeforeClusterUpgrade"], until: [gate] });
      assertNoCel(await told(spec));
    });

  test("match conditions that fail", async () => {
    const matchConditions = [{ name: "gold", expression: FAILS }];
    assertNoCel(await told(rule({ hooks: ["BeforeClusterUpgrade"], matchConditions })));
  });

  for (const [name, gate] of CASES.filter(([kind]) => !kind.startsWith("wait")))
    test(`of a stage: ${name}`, () => {
      const rollout = compileRollout(hookRollout({ stages: [{ name: "all", until: [gate] }] }));
      if (rollout.problem !== undefined) return assertNoCel([rollout.problem]);
      const [stage] = rollout.stages;
      assert.ok(stage);
      const open = unmetGate(stage, { world: world(), call: UPGRADE, now: NOW });
      assertNoCel([open?.wanted]);
    });
});
