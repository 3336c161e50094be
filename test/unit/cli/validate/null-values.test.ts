/** What looks like a field, and is none for the API server. */

import assert from "node:assert/strict";
import test from "node:test";
import { nullValues } from "../../../../src/cli/validate/beyond-schema.ts";
import { textErrors } from "../../../../src/cli/fleet/text-fields.ts";

test("null as the value of an approval is an error, as any value would do", () => {
  const until = [
    { name: "a", annotation: { key: "example.com/a", value: null } },
    { name: "b", anyOf: [{ name: "c", label: { key: "example.com/a", valueFrom: null } }] },
    { name: "d", label: { key: "example.com/a", value: "null" } },
  ];
  const told = nullValues({ spec: { rules: [{ name: "r", hooks: ["BeforeClusterDelete"], until }] } });
  assert.deepEqual(
    told.map(({ path }) => path),
    ["spec.rules[0].until[0].annotation.value", "spec.rules[0].until[1].anyOf[0].label.valueFrom"],
  );
  assert.match(told[0]?.message ?? "", /^found null, which means any value: write the value in quotes/);
});

test("labels beside the metadata of a Namespace or a Cluster are an error, with their place", () => {
  const labels = { tier: "production" };
  const namespace = { apiVersion: "v1", kind: "Namespace", metadata: { name: "team-a" }, labels };
  const cluster = { ...namespace, apiVersion: "cluster.x-k8s.io/v1beta2", kind: "Cluster" };
  for (const object of [namespace, cluster])
    assert.deepEqual(textErrors(object), [
      { path: "labels", message: 'unknown field "labels": it belongs in metadata' },
    ]);
  assert.deepEqual(textErrors({ ...namespace, apiVersion: "example.com/v1" }), []);
});
