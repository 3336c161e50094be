/** The 50 kinds of objects that are watched: nobody can name so many that none is left for others. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { GateSpec } from "../../src/api/hook-policy.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import { at, clusterHookPolicy, hookPolicy, rule } from "../unit/builders.ts";
import { storeWith } from "../unit/memory/fixtures.ts";

const MAX_KINDS = 50;

function kinds(count: number, prefix: string): string[] {
  return Array.from({ length: count }, (_, i) => `${prefix}${i}`);
}

const rulesOf = (names: readonly string[], more: object = {}): ReturnType<typeof rule>[] =>
  Array.from({ length: Math.ceil(names.length / 16) }, (_, r) =>
    rule({
      name: `r${r}`,
      until: names.slice(r * 16, r * 16 + 16).map((kind, i): GateSpec => ({
        name: `g${i}`,
        object: { apiVersion: "example.com/v1", kind, name: "x", ...more },
      })),
    }),
  );

function tenants(namespace: string, names: readonly string[], age: string): PolicyObject {
  const creationTimestamp = at(age).toISOString();
  return hookPolicy({ rules: rulesOf(names) }, { namespace, uid: namespace, name: "p", creationTimestamp });
}

function platforms(names: readonly string[]): PolicyObject {
  return clusterHookPolicy({ rules: rulesOf(names) }, { creationTimestamp: at("-1m").toISOString() });
}

/** In the order in which the first 50 are watched. */
function watched(...policies: PolicyObject[]): string[] {
  const demands = storeWith({ policies }).store.demands();
  return [...new Set(demands.map(({ kind }) => kind.kind))].slice(0, MAX_KINDS);
}

const count = (list: readonly string[], prefix: string): number =>
  list.filter((kind) => kind.startsWith(prefix)).length;

describe("51 kinds in the oldest policy", () => {
  const flood = tenants("flood", kinds(51, "Flood"), "-9d");

  test("leave another namespace its kinds", () => {
    const list = watched(flood, tenants("other", kinds(20, "Other"), "-1h"));
    assert.deepEqual([count(list, "Other"), count(list, "Flood")], [20, 30]);
  });

  test("leave forty namespaces one each", () => {
    const others = Array.from({ length: 40 }, (_, n) => tenants(`n${n}`, [`Other${n}`], "-1h"));
    assert.equal(count(watched(flood, ...others), "Other"), 40);
  });

  test("leave ClusterHookPolicies their share, and theirs leave namespaces the rest", () => {
    const list = watched(flood, platforms(kinds(30, "Platform")));
    assert.deepEqual([count(list, "Platform"), count(list, "Flood")], [30, 20]);
    const all = watched(flood, platforms(kinds(60, "Platform")));
    assert.deepEqual([count(all, "Platform"), count(all, "Flood")], [37, 13]);
  });

  test("in many policies are one share all the same", () => {
    const split = kinds(51, "Flood").map((kind, n) =>
      hookPolicy({ rules: rulesOf([kind]) }, { namespace: "flood", name: `p${n}`, uid: `f${n}` }),
    );
    assert.equal(count(watched(...split, tenants("other", kinds(20, "Other"), "-1h")), "Other"), 20);
  });
});

test("the order does not depend on that in which policies came", () => {
  const policies = [
    tenants("b", kinds(30, "B"), "-1h"),
    tenants("a", kinds(30, "A"), "-1h"),
    platforms(kinds(30, "P")),
    tenants("c", kinds(30, "C"), "-2h"),
  ];
  const one = watched(...policies);
  assert.deepEqual(watched(...policies.toReversed()), one);
  assert.deepEqual(one.slice(25, 29), ["C0", "A0", "B0", "P25"]);
});

test("a kind that one policy wants as a whole is wanted as a whole", () => {
  const whole = { name: undefined, selector: {}, expression: "has(object.spec)" };
  const policies = [
    tenants("a", ["Both"], "-2h"),
    hookPolicy({ rules: rulesOf(["Both"], whole) }, { namespace: "a", name: "q", uid: "q" }),
  ];
  const demands = storeWith({ policies }).store.demands();
  assert.deepEqual(
    demands.map(({ whole: all }) => all),
    [true],
  );
});
