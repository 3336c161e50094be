/** Which approvals of a version `hookpolicy validate` finds that only BeforeClusterUpgrade asks for. */

import assert from "node:assert/strict";
import test from "node:test";
import { servedHooks } from "../../../../src/api/hook-catalog.ts";
import type { GateSpec, RuleSpec } from "../../../../src/api/hook-policy.ts";
import { versionWarnings } from "../../../../src/cli/validate/version-lint.ts";
import { folder } from "../program.ts";
import { hookpolicy } from "../resident.ts";

const NEWEST = servedHooks(14);
const UPGRADE: RuleSpec["hooks"] = ["BeforeClusterUpgrade"];
const approval: GateSpec = { name: "ok", annotation: { key: "a/b", valueFrom: "TargetVersion" } };

function rule(until: GateSpec[] | undefined, hooks = UPGRADE, name = "r"): RuleSpec {
  return { name, hooks, ...(until !== undefined && { until }) };
}

const object = (fields: Partial<NonNullable<GateSpec["object"]>>): GateSpec => ({
  name: "ok",
  object: { apiVersion: "example.com/v1", kind: "Approval", namespace: "approvals", ...fields },
});

const found = (rules: readonly RuleSpec[], served = NEWEST): unknown[] =>
  versionWarnings(rules, served).map(({ path, id }) => [path, id]);

const warned: Readonly<Record<string, GateSpec[]>> = {
  "an annotation": [approval],
  "a label": [{ name: "ok", label: { key: "a/b", valueFrom: "TargetVersion", from: "Namespace" } }],
  "an object that is named after it": [object({ nameExpression: "'up-' + request.toKubernetesVersion" })],
  "an object that has it": [
    object({
      name: "prod",
      expression: "has(request.targetVersion) && object.spec.v == request.targetVersion",
    }),
  ],
  "one of several": [
    {
      name: "any",
      anyOf: [{ name: "l", label: { key: "a/b", value: "yes" } }, approval],
    },
  ],
};
for (const [name, until] of Object.entries(warned))
  test(`an approval of a version is ${name}`, () => {
    assert.deepEqual(found([rule(until)]), [["spec.rules[0].hooks[0]", "unasked-version"]]);
  });

const silent: Readonly<Record<string, readonly RuleSpec[]>> = {
  "that a rule asks for again at each step": [
    rule([approval]),
    rule([{ name: "e", expression: "true" }], ["BeforeControlPlaneUpgrade"], "again"),
  ],
  "at both hooks": [rule([approval], ["BeforeClusterUpgrade", "BeforeControlPlaneUpgrade"])],
  "of no version": [rule([{ name: "ok", annotation: { key: "a/b", value: "yes" } }])],
  "of no upgrade": [
    rule([{ name: "ok", annotation: { key: "a/b", valueFrom: "ClusterUID" } }], ["BeforeClusterDelete"]),
  ],
  "that is a window": [
    rule([{ name: "w", window: { timeZone: "UTC", allow: [{ schedule: "0 22 * * FRI", duration: "8h" }] } }]),
  ],
  "that is a range of versions": [rule([{ name: "v", version: { range: ">=1.34.0" } }])],
  "of an object that does not depend on it": [rule([object({ name: "prod" })])],
};
for (const [name, rules] of Object.entries(silent))
  test(`no warning of an approval ${name}`, () => assert.deepEqual(found(rules), []));

test("a rule that only observes each step asks for nothing", () => {
  assert.equal(found([rule([approval]), rule(undefined, ["BeforeControlPlaneUpgrade"], "see")]).length, 1);
});

test("Cluster API before 1.12 asks about each version", () => {
  assert.deepEqual(found([rule([approval])], servedHooks(11)), []);
});

test("the warning can be accepted", async (t) => {
  const policy = (accept: string): string => `apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata:
  name: p
  namespace: team-a
  annotations: { hookpolicy.dev/accept: "${accept}" }
spec:
  rules:
    - name: approved
      hooks: [BeforeClusterUpgrade]
      until: [{ name: ok, annotation: { key: a/b, valueFrom: TargetVersion } }]
`;
  const cwd = await folder(t, { "a.yaml": policy("approved/unasked-version"), "b.yaml": policy("") });
  assert.equal((await hookpolicy(["validate", "a.yaml", "--strict"], { cwd })).code, 0);
  const { code, stdout } = await hookpolicy(["validate", "b.yaml", "--strict"], { cwd });
  assert.equal(code, 1);
  assert.match(stdout, /b\.yaml:10:\d+: warning: .*BeforeControlPlaneUpgrade.* \[unasked-version\]/);
});
