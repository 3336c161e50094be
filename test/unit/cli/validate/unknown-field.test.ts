/** What `hookpolicy validate` suggests for a field that is not there. */

import assert from "node:assert/strict";
import test from "node:test";
import { folder } from "../program.ts";
import { hookpolicy } from "../resident.ts";

const object = (kind: string, rule: object, spec: object = {}): object => ({
  apiVersion: "hookpolicy.dev/v1alpha1",
  kind,
  metadata: { name: "p", ...(kind === "HookPolicy" && { namespace: "team-a" }) },
  spec: { ...spec, rules: [{ name: "r", hooks: ["BeforeClusterDelete"], until: [], ...rule }] },
});
const gate = (fields: object): object => object("HookPolicy", { until: [{ name: "g", ...fields }] });
const OF_FLEET = "a HookPolicy is about its own namespace: remove the field, or make it a ClusterHookPolicy";
const ACCOUNT = "a HookPolicy has spec.serviceAccountName instead";
const CASES: readonly (readonly [title: string, object: object, help: string | undefined])[] = [
  ["a field of a ClusterHookPolicy", object("HookPolicy", {}, { namespaceSelector: {} }), OF_FLEET],
  [
    "one in a gate",
    gate({ object: { apiVersion: "v1", kind: "Pod", name: "a", namespaceSelector: {} } }),
    OF_FLEET,
  ],
  [
    "a word that is near",
    gate({ annotation: { key: "a", valueForm: "ClusterUID" } }),
    'did you mean "valueFrom"?',
  ],
  [
    "a ServiceAccount as a ClusterHookPolicy has it",
    object("HookPolicy", {}, { serviceAccount: "a" }),
    ACCOUNT,
  ],
  ["one in a task", object("HookPolicy", { tasks: [{ name: "t", serviceAccount: "a" }] }), ACCOUNT],
  [
    "a text instead of a list",
    object("HookPolicy", { hook: "BeforeClusterDelete", hooks: undefined }),
    'did you mean "hooks"?',
  ],
  [
    "a field of other places",
    gate({ valueFrom: "ClusterUID" }),
    "it belongs in spec.rules[].until[].annotation, or in spec.rules[].until[].label",
  ],
];

for (const [title, given, help] of CASES) {
  test(`${title}: ${help ?? "nothing"}`, async (t) => {
    const cwd = await folder(t, { "p.yaml": JSON.stringify(given) });
    const { code, stdout } = await hookpolicy(["validate", "p.yaml", "-o", "json"], { cwd });
    assert.equal(code, 1);
    const { findings } = JSON.parse(stdout) as {
      findings: readonly { readonly message: string; readonly suggestion?: string }[];
    };
    const [found] = findings.filter(({ message }) => message.startsWith("unknown field"));
    assert.equal(found?.suggestion, help);
  });
}
