/** Expressions of which a suite has another result than the operator. */

import assert from "node:assert/strict";
import test from "node:test";
import type { RuleSpec } from "../../../../src/api/hook-policy.ts";
import { suiteWarnings } from "../../../../src/cli/validate/suite-blanks.ts";
import { rule } from "../../builders.ts";
import { folder } from "../program.ts";
import { hookpolicy } from "../resident.ts";

const TIME = "cluster.metadata.deletionTimestamp";

function told(over: Partial<RuleSpec>): readonly string[] {
  return suiteWarnings([rule(over)]).map(({ path, message }) => `${path}: ${message}`);
}
const gate = (expression: string): Partial<RuleSpec> => ({ until: [{ name: "gate", expression }] });

test("finalizers of a deletion are told however they are read, in each kind of gate", () => {
  const finalizers = "size(cluster.metadata['finalizers']) == 0";
  const object = { apiVersion: "v1", kind: "ConfigMap", expression: finalizers };
  const [, inObject, inAny, ...none] = told({
    until: [
      { name: "gate", expression: `${finalizers} && has(cluster.topology)` },
      { name: "object", object },
      { name: "any", anyOf: [{ name: "one", expression: finalizers }] },
    ],
  });
  assert.match(inObject ?? "", /until\[1\]\.object\.expression: .* has finalizers/);
  assert.match(inAny ?? "", /until\[2\]\.anyOf\[0\]\.expression: .* has finalizers/);
  assert.deepEqual(none, []);
});

test("what a suite cannot pass by mistake is not told", () => {
  assert.deepEqual(told(gate(`has(${TIME})`)), [], "is there when Cluster API calls");
  assert.deepEqual(told(gate("has(cluster.metadata.finalizers)")), [], "is always there");
  assert.deepEqual(told(gate("has(object.metadata.deletionTimestamp)")), [], "of another object");
  const upgrade: Partial<RuleSpec> = { hooks: ["BeforeClusterUpgrade"] };
  assert.deepEqual(
    told({ ...gate("size(cluster.metadata.finalizers) == 0"), ...upgrade }),
    [],
    "is never called during a deletion",
  );
});

test("`hookpolicy validate` tells it with its place, until the author accepts it", async (t) => {
  const text = `apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata:
  name: protect
  namespace: team-a
spec:
  rules:
    - name: held
      hooks: [BeforeClusterDelete]
      until:
        - name: gate
          expression: >-
            cluster.metadata.name == 'test' ||
            size(cluster.metadata.finalizers) == 0
`;
  const accept = `metadata:\n  annotations: { hookpolicy.dev/accept: held/blank-in-suites }\n`;
  const cwd = await folder(t, { "a.yaml": text, "b.yaml": text.replace("metadata:\n", accept) });
  const { stdout } = await hookpolicy(["validate", "a.yaml"], { cwd });
  assert.match(stdout, /^a\.yaml:12:\d+: warning: .* a step patches it, .* \[blank-in-suites\]$/m);
  assert.equal((await hookpolicy(["validate", "b.yaml"], { cwd })).stdout, "1 HookPolicy: no errors\n");
});
