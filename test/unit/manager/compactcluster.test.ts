/** A Cluster that is kept in memory is the same Cluster. */

import assert from "node:assert/strict";
import test from "node:test";
import { compactCluster } from "../../../src/manager/compactcluster.ts";
import { cluster } from "../builders.ts";

const withVariables = (variables: string) =>
  cluster({}, { topology: { className: "lab", version: "v1.35.0", variables } });

test("a Cluster with many variables is kept small, and is the same to whoever looks", () => {
  const many = Object.fromEntries(
    Array.from({ length: 100 }, (_, i) => [`größe-${i}`, { size: i, ok: true }]),
  );
  const whole = withVariables(JSON.stringify(many));
  const kept = compactCluster(whole);
  assert.equal(kept.topology?.variables, whole.topology?.variables);
  assert.deepEqual(kept, whole);
  assert.equal(JSON.stringify(kept), JSON.stringify(whole));
  const variables = Object.getOwnPropertyDescriptor(kept.topology, "variables");
  assert.equal(variables?.value, undefined, "it is kept as it came");
});

test("a Cluster with few variables, or none, stays as it is", () => {
  for (const small of [withVariables('{"a":1}'), cluster()]) assert.equal(compactCluster(small), small);
});
