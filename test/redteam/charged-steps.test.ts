/** Whatever of its input a decision works through is charged for, so that what there is of it costs. No clock is asked. */

import assert from "node:assert/strict";
import test, { describe, type TestContext } from "node:test";
import type { WindowGateSpec } from "../../src/api/hook-policy.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import { Budget } from "../../src/policy/cel/meter.ts";
import { decide } from "../../src/policy/decide.ts";
import { objectKindKey } from "../../src/policy/watched-objects.ts";
import type { World } from "../../src/policy/world.ts";
import {
  cluster,
  compiled,
  DELETE,
  hookPolicy,
  manyAnnotations,
  metadata,
  NOW,
  objectsOf,
  range,
  rule,
  world,
} from "../unit/builders.ts";

const NEVER: WindowGateSpec = {
  timeZone: "Europe/Berlin",
  allow: [{ schedule: "* * * * *", duration: "30s" }],
  deny: [{ schedule: "* * * * *", duration: "30s" }],
};

/** Steps that a decision is charged, by all of its budgets. */
function charged(t: TestContext, work: () => unknown): number {
  const spend = t.mock.method(Budget.prototype, "spend");
  try {
    work();
    return spend.mock.calls.reduce((sum, { arguments: [steps] }) => sum + steps, 0);
  } finally {
    spend.mock.restore();
  }
}

describe("the steps that are charged grow with", () => {
  const one = (gate: object): PolicyObject[] => [
    hookPolicy({ rules: [rule({ until: [{ name: "g", ...gate }] })] }),
  ];
  const saying = (expression: string): PolicyObject[] => one({ expression });
  const annotated = (annotations: Record<string, string>): World =>
    world({ cluster: cluster({ annotations }) });
  const keys = (size: number): World => annotated(manyAnnotations(size));
  const letters = (size: number): World => annotated({ big: "a".repeat(size) });
  const big = "cluster.metadata.annotations['big']";
  const kind = { apiVersion: "v1", kind: "ConfigMap" };
  const looking = (more: object): PolicyObject[] => one({ object: { ...kind, ...more } });
  const objects = (size: number): World =>
    world({
      objects: objectsOf({
        [objectKindKey(kind)]: range(size).map((i) => ({
          metadata: metadata({ name: `x${i}`, uid: `x${i}` }),
        })),
      }),
    });
  const annotatedObject = (size: number): World => {
    const meta = { ...metadata({ name: "x" }), annotations: manyAnnotations(size) };
    return world({ objects: objectsOf({ [objectKindKey(kind)]: [{ metadata: meta }] }) });
  };
  const always = (): World => world();
  const ofWindow = (spec: WindowGateSpec): PolicyObject[] => one({ window: spec });

  /** What is scaled, the steps for each at least, and how it is made. */
  const TABLE: readonly (readonly [
    what: string,
    each: number,
    policies: (size: number) => PolicyObject[],
    here: (size: number) => World,
  ])[] = [
    ["keys that are counted", 1, () => saying("size(cluster.metadata.annotations) > 0"), keys],
    ["keys that are compared", 1, () => saying("cluster.metadata.annotations == {'a': 'b'}"), keys],
    ["keys that are gone through", 2, () => saying("cluster.metadata.annotations.all(k, k != '')"), keys],
    ["keys among which one is no text", 1, () => saying("!(1 in cluster.metadata.annotations)"), keys],
    [
      "annotations of an object",
      1,
      () => looking({ selector: {}, expression: "size(object.metadata.annotations) > 0" }),
      annotatedObject,
    ],
    ["letters that are searched", 0.1, () => saying(`${big}.contains('b')`), letters],
    ["letters that are compared", 0.1, () => saying(`${big} == 'b'`), letters],
    ["letters of a key that is missing", 0.1, () => saying(`cluster.metadata.labels[${big}] == ''`), letters],
    ["letters that are split", 0.1, () => saying(`size(${big}.split(',')) > 0`), letters],
    [
      "bounds of a range",
      50,
      () => saying(`'1.2.3'.satisfies(${big})`),
      (size) =>
        annotated({
          big: range(size)
            .map((i) => `1.${i}.0`)
            .join("||"),
        }),
    ],
    ["letters that a pattern reads", 0.1, () => saying(`${big}.matches('b$')`), letters],
    [
      "letters of the variables",
      0.2,
      () => saying("has(cluster.topology.variables.a)"),
      (size) =>
        world({
          cluster: cluster(
            {},
            {
              topology: {
                className: "c",
                version: "v1.34.0",
                variables: JSON.stringify({ a: "a".repeat(size) }),
              },
            },
          ),
        }),
    ],
    [
      "letters of the same length as the wanted ones",
      0.1,
      (size) => one({ annotation: { key: "big", value: "b".repeat(Math.min(size, 256)) } }),
      (size) => letters(Math.min(size, 256)),
    ],
    [
      "finalizers",
      1,
      () => saying("'a' in cluster.metadata.finalizers"),
      (size) => world({ cluster: cluster({ finalizers: range(size).map(String) }) }),
    ],
    ["objects that are selected", 1, () => looking({ selector: {} }), objects],
    ["objects among which one has a name", 0.1, () => looking({ name: "none" }), objects],
    [
      "objects that are read",
      10,
      () => looking({ selector: {}, expression: "object.metadata.name != ''" }),
      objects,
    ],
    ["turns of a loop", 5, () => saying("cluster.metadata.annotations.all(k, true)"), keys],
    ["calls that fail", 20, () => saying("cluster.metadata.annotations.exists(k, int(k) == 1)"), keys],
    [
      "times that are made",
      20,
      () => saying("cluster.metadata.annotations.all(k, timestamp(1) < now)"),
      keys,
    ],
    ["times that are compared", 20, () => saying("cluster.metadata.annotations.exists(k, now < now)"), keys],
    [
      "expressions without a result",
      50,
      (size) =>
        range(size).map((i) =>
          hookPolicy(
            {
              rules: [
                rule({ until: [{ name: "g", expression: "cluster.metadata.annotations['none'] == ''" }] }),
              ],
            },
            { name: `p${i}`, uid: `p${i}` },
          ),
        ),
      always,
    ],
    [
      "policies",
      15,
      (size) => range(size).map((i) => hookPolicy({}, { name: `p${i}`, uid: `p${i}` })),
      always,
    ],
  ];
  for (const [what, each, policies, here] of TABLE) {
    test(what, (t) => {
      const [few, many] = [20, 200].map((size) => {
        const all = policies(size).map(compiled);
        const there = here(size);
        assert.deepEqual(
          all.flatMap(({ errors }) => errors),
          [],
        );
        return charged(t, () => decide(all, there, DELETE, NOW));
      });
      assert.ok(few !== undefined && many !== undefined);
      assert.ok(many - few >= each * 180 - 1, `${few} steps for 20, ${many} for 200`);
    });
  }

  test("bounds of a range, not the spaces between them", (t) => {
    const steps = (ranges: string): number => {
      const all = saying(`'1.2.3'.satisfies('${ranges}')`).map(compiled);
      return charged(t, () => decide(all, world(), DELETE, NOW));
    };
    assert.ok(steps("1.0.0  ||  1.1.0 || 1.2.0") - steps("1.0.0||1.1.0||1.2.0") < 10, "by the same bounds");
  });

  test("windows, waits, gates and the entries of a window", (t) => {
    const steps = (list: PolicyObject[]): number => {
      const all = list.map(compiled);
      return charged(t, () => decide(all, world(), DELETE, NOW));
    };
    const daily = (count: number): WindowGateSpec => ({
      timeZone: "UTC",
      allow: range(count).map((i) => ({ schedule: `${i} 1 * * *`, duration: "1m" })),
    });
    assert.ok(steps(ofWindow(daily(16))) >= steps(ofWindow(daily(1))) + 15);
    assert.ok(steps(ofWindow(NEVER)) >= 2000, "a search without end");
    const gates = (count: number): PolicyObject[] => [
      hookPolicy({
        rules: [rule({ until: range(count).map((i) => ({ name: `g${i}`, annotation: { key: "a" } })) })],
      }),
    ];
    assert.ok(steps(gates(16)) >= steps(gates(1)) + 15 * 20);
    const waits = (count: number): PolicyObject[] => [
      hookPolicy({
        rules: [rule({ until: range(count).map((i) => ({ name: `g${i}`, wait: { duration: "1h" } })) })],
      }),
    ];
    assert.ok(steps(waits(16)) >= steps(waits(1)) + 15 * 20);
  });
});
