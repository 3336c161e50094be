/** `explain` says which part of an expression is false. */

import assert from "node:assert/strict";
import test from "node:test";
import { cluster, deletion, explained, policy } from "./explained.ts";

const HAS = "'tier' in cluster.metadata.labels";
const LACKS = "'ok' in cluster.metadata.annotations";
const both = (name: string): object => ({ name, expression: `${HAS} &&\n${LACKS}` });

test("of a gate, of a member of anyOf, and of a match condition", async (t) => {
  const rules = [
    deletion([
      both("alone"),
      { name: "either", anyOf: [both("member"), { name: "never", expression: LACKS }] },
    ]),
    { ...deletion([both("unasked")]), name: "skipped", matchConditions: [both("mc")] },
  ];
  const text = await explained(t, [cluster(), policy("p", rules)], "--hook", "BeforeClusterDelete");
  assert.match(text, /gate alone: waits\n.*wanted +expression 'tier' in .* && 'ok' in .*\n/);
  assert.match(
    text,
    /gate alone: waits\n.*\n.*observed +false, because 'ok' in cluster\.metadata\.annotations is false\n/,
  );
  assert.match(
    text,
    /gate member: waits\n.*\n.*observed +false, because 'ok' in cluster\.metadata\.annotations is false\n/,
  );
  assert.match(text, /gate never: waits\n.*\n.*observed +false\n/);
  assert.match(
    text,
    /rule skipped: Skipped \(match condition mc is false\)\n.*because +'ok' in cluster\.metadata\.annotations is false\n/,
  );
  const json = await explained(
    t,
    [cluster(), policy("p", rules)],
    "--hook",
    "BeforeClusterDelete",
    "-o",
    "json",
  );
  assert.match(json, /"observed": "false, because 'ok' in cluster\.metadata\.annotations is false"/);
});

test("how to write an expression is for its author: the tree of explain has it, the message to Cluster API does not", async (t) => {
  const until = [{ name: "g", expression: "cluster.metadata.labels['x'] == 'y'" }];
  const objects = [cluster(), policy("p", [deletion(until)])];
  const args = ["--hook", "BeforeClusterDelete"];
  assert.match(await explained(t, objects, ...args), /has no key "x"/);
  const { operations } = JSON.parse(await explained(t, objects, ...args, "-o", "json")) as {
    operations: [{ message: string }];
  };
  assert.match(
    operations[0].message,
    /gate g cannot be evaluated \(cluster\.metadata\.labels has no key "x"\)$/,
  );
});
