/** Between two steps of a compilation there may be a garbage collection. */

import assert from "node:assert/strict";
import test from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { setFlagsFromString } from "node:v8";
import { runInNewContext } from "node:vm";
import { compileExpression } from "../../../src/policy/cel/expression.ts";
import { compileInSteps } from "../../../src/policy/compile.ts";
import { ALL_HOOKS, hookPolicy, rule } from "../builders.ts";

const sourceOf = (text: string): string => `cluster.metadata.name == "${text}"`;

function stepsOf(text: string): ReturnType<typeof compileInSteps> {
  const until = [{ name: "e", expression: sourceOf(text) }];
  return compileInSteps("HookPolicy", hookPolicy({ rules: [rule({ until })] }), ALL_HOOKS);
}

test("what a step has compiled is not compiled again in a later one", async () => {
  const count = [...stepsOf("first")].length;
  const steps = stepsOf("second");
  for (let step = 0; step < count; step += 1) steps.next();
  const checked = new WeakRef(compileExpression(sourceOf("second"), "gate"));
  await nextTurn();
  setFlagsFromString("--expose-gc");
  runInNewContext("gc")();
  assert.ok(checked.deref() !== undefined);
  assert.equal(steps.next().done, true);
});
