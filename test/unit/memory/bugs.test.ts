/** A bug of the operator holds, and is told once for each rule. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookCall } from "../../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { cluster, hookPolicy, NOW, rule } from "../builders.ts";
import { MemoryLogger } from "../kube/fixtures.ts";
import { entryOf, keyOf, storeWith } from "./fixtures.ts";

const DELETE: HookCall = { hook: "BeforeClusterDelete" };

describe("a bug of the operator is told once for each rule", () => {
  const bug = (): never => assert.fail("a bug");
  const until = [{ name: "backup", object: { apiVersion: "v1", kind: "ConfigMap", name: "backup" } }];

  test("where a gate throws", () => {
    const log = new MemoryLogger();
    const policies = [hookPolicy({ rules: [rule({ until })] })];
    const { store } = storeWith({ policies, objects: { find: bug }, clusters: [cluster()], log });
    const request = { call: DELETE, cluster: cluster() };
    for (const _ of [1, 2]) assert.equal(store.decider.ask(request, NOW).holds, true);
    const lines = log.lines.filter(({ level }) => level === "error");
    assert.deepEqual(
      lines.map(({ message, fields }) => [message, fields["rule"], String(fields["error"])]),
      [
        [
          "Failed to evaluate a rule",
          "HookPolicy team-a/protect, rule confirmed-delete",
          "AssertionError [ERR_ASSERTION]: a bug",
        ],
      ],
    );
  });

  test("also after those of a thousand other rules", () => {
    const log = new MemoryLogger();
    const rules = Array.from({ length: 10 }, (_, index) => rule({ name: `r${index}`, until }));
    const policies = Array.from({ length: 105 }, (_, index) =>
      hookPolicy({ rules }, { name: `p${index}`, uid: `p${index}` }),
    );
    const { store } = storeWith({ policies, objects: { find: bug }, clusters: [cluster()], log });
    for (const _ of [1, 2, 3, 4]) store.decider.ask({ call: DELETE, cluster: cluster() }, NOW);
    const told = log.lines.map(({ fields }) => fields["rule"]);
    assert.deepEqual([new Set(told).size, told.length <= 2000], [1050, true]);
  });

  test("where a policy cannot be compiled", () => {
    const log = new MemoryLogger();
    const spec = Object.defineProperty({}, "rules", { enumerable: true, get: bug });
    storeWith({ policies: [{ ...hookPolicy(), spec } as PolicyObject], log });
    assert.deepEqual(log.messages("error"), ["Failed to compile a policy"]);
  });

  test("where not even that can be told, and the next edit is compiled", () => {
    const fixture = storeWith();
    const policy = hookPolicy();
    assert.throws(() => fixture.setPolicy(Object.defineProperty({ ...policy }, "spec", { get: bug })));
    assert.ok(fixture.store.compiles(keyOf(policy)));
    fixture.setPolicy(policy);
    assert.deepEqual(entryOf(fixture, policy).compiled.errors, []);
  });
});
