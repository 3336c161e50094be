/** That `hookpolicy simulate` names the rules that change without a difference in any answer. */

import assert from "node:assert/strict";
import test from "node:test";
import { folder } from "../program.ts";
import { hookpolicy } from "../resident.ts";

const CLUSTER = {
  apiVersion: "cluster.x-k8s.io/v1beta2",
  kind: "Cluster",
  metadata: { namespace: "team-a", name: "prod-1", uid: "5d2c" },
  spec: { topology: { classRef: { name: "lab" }, version: "v1.35.0" } },
};
const approvals = (operator: string): object => {
  const [a, b] = ["a", "b"].map((key) => `'example.com/${key}' in cluster.metadata.annotations`);
  return { name: "approved", expression: `${a} ${operator} ${b}` };
};
const policy = (approved: object, range: string, message = "ask"): string =>
  JSON.stringify({
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookPolicy",
    metadata: { name: "p", namespace: "team-a" },
    spec: {
      rules: [
        { name: "two-people", hooks: ["BeforeClusterDelete"], until: [approved], message },
        { name: "tested", hooks: ["BeforeClusterUpgrade"], until: [{ name: "v", version: { range } }] },
      ],
    },
  });
const rollout = (maxFailures: number): string =>
  JSON.stringify({
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookRollout",
    metadata: { name: "upgrades" },
    spec: {
      operation: "Upgrade",
      namespaceSelector: {},
      progressDeadline: "6h",
      stages: [{ name: "all", maxFailures }],
    },
  });

test("a rule that is loosened for what no Cluster shows yet is named, in every format", async (t) => {
  const both = policy(approvals("&&"), "<1.36.0");
  const cwd = await folder(t, {
    "fleet.yaml": [JSON.stringify(CLUSTER), both, rollout(0)].join("\n---\n"),
    "either.yaml": policy(approvals("||"), "<1.36.0"),
    "wider.yaml": policy(approvals("&&"), "<1.37.0"),
    "words.yaml": policy(approvals("&&"), "<1.36.0", "ask #ops"),
    "narrower.yaml": policy(approvals("&&"), "<1.35.0"),
    "rollout.yaml": rollout(2),
  });
  const run = async (file: string, ...args: readonly string[]): Promise<string> =>
    (await hookpolicy(["simulate", "-f", file, "--against", "fleet.yaml", ...args], { cwd })).stdout;
  const told = async (file: string, ...args: readonly string[]): Promise<string | undefined> =>
    /^changed, without a difference in any answer: (.*); an approval, /m.exec(await run(file, ...args))?.[1];
  assert.equal(await told("either.yaml"), "HookPolicy team-a/p two-people");
  assert.equal(await told("either.yaml", "-o", "markdown"), "HookPolicy team-a/p two-people");
  assert.match(await run("either.yaml", "-o", "json"), /"unseen": \[\s*"HookPolicy team-a\/p two-people"/);
  assert.equal(await told("wider.yaml"), "HookPolicy team-a/p tested");
  assert.equal(await told("wider.yaml", "--to-version", "v1.36.0"), undefined, "a difference is seen");
  assert.equal(await told("words.yaml"), undefined, "a text changes no answer");
  assert.equal(await told("narrower.yaml"), undefined);
  assert.equal(await told("rollout.yaml"), "HookRollout upgrades");
});
