import assert from "node:assert/strict";
import test from "node:test";
import { counted } from "../../../src/lib/counted.ts";

test("one has no plural, and none has", () => {
  assert.equal(counted(1, "Cluster"), "1 Cluster");
  assert.equal(counted(0, "Cluster"), "0 Clusters");
  assert.equal(counted(2, "more policy"), "2 more policies");
  assert.equal(counted(2, "ClusterHookPolicy"), "2 ClusterHookPolicies");
});
