/** `hookpolicy override` creates what its user has seen, however long the question was open. */

import assert from "node:assert/strict";
import test from "node:test";
import { answering, list, servingCluster } from "../api-server.ts";
import { MAIN } from "../program.ts";
import { rawCluster } from "../raw.ts";
import { onTerminal } from "../terminal/pseudo-terminal.ts";

const OVERRIDES = "/apis/hookpolicy.dev/v1alpha1/hookoverrides";
const POLICIES = "GET /apis/hookpolicy.dev/v1alpha1/namespaces/team-a/hookpolicies";

const freeze = (name: string): object => ({
  metadata: { namespace: "team-a", name, uid: name, resourceVersion: "1", generation: 1 },
  spec: {
    rules: [
      { name: "frozen", hooks: ["BeforeClusterUpgrade"], until: [{ name: "never", expression: "false" }] },
    ],
  },
});

const serving = (version: string, uid = "uid-1"): Record<string, object> => {
  const spec = { topology: { classRef: { name: "lab" }, version } };
  const cluster = { ...rawCluster({ uid, resourceVersion: "1" }), spec };
  return servingCluster(cluster, { "namespaces/team-a/hookpolicies": [freeze("one")] });
};

/** `meanwhile`: what the API server says once the question is there. */
async function overridden(t: test.TestContext, meanwhile: Readonly<Record<string, object>>) {
  const answers = serving("v1.35.0");
  const { kubeconfig, asked } = await answering(t, answers);
  const what = ["team-a/prod-1", "--hook", "BeforeClusterUpgrade", "--reason", "INC-1", "--for", "1h"];
  const { code, seen } = await onTerminal([MAIN, "override", ...what, "--kubeconfig", kubeconfig], () => {
    Object.assign(answers, meanwhile);
    return "y\r";
  });
  return { code, seen, isSent: asked.includes(`POST ${OVERRIDES}`) };
}

const CHANGES: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  "another version": serving("v1.36.0"),
  "another Cluster of the name": serving("v1.35.0", "uid-2"),
  "one more policy that holds": { [POLICIES]: list(freeze("one"), freeze("two")) },
};
for (const [what, meanwhile] of Object.entries(CHANGES))
  test(`${what} meanwhile is not overridden`, async (t) => {
    const { code, seen, isSent } = await overridden(t, meanwhile);
    assert.deepEqual([code, isSent], [1, false], seen);
    assert.match(seen, /has changed meanwhile, and nothing was created: look at it again/);
  });

test("less than was shown is created without another question", async (t) => {
  const { seen, isSent } = await overridden(t, { [POLICIES]: list() });
  assert.equal(isSent, true, seen);
});
