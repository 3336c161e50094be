/** `hookpolicy override` creates what its user has seen, however long the question was open. */

import assert from "node:assert/strict";
import test from "node:test";
import { answering, SERVES_CLUSTERS } from "../api-server.ts";
import { MAIN } from "../program.ts";
import { rawCluster } from "../raw.ts";
import { onTerminal } from "../terminal/pseudo-terminal.ts";

const VERSION = "cluster.x-k8s.io/v1beta2";
const OVERRIDES = "/apis/hookpolicy.dev/v1alpha1/hookoverrides";
const POLICIES = "GET /apis/hookpolicy.dev/v1alpha1/namespaces/team-a/hookpolicies";
const list = (...items: readonly object[]): object => ({ metadata: { resourceVersion: "1" }, items });

function clusterAnswers(version: string, uid = "uid-1"): Record<string, object> {
  const metadata = { namespace: "team-a", name: "prod-1", uid, resourceVersion: "1" };
  const spec = { topology: { classRef: { name: "lab" }, version } };
  const cluster = { ...rawCluster(metadata), spec, status: {} };
  return {
    [`GET /apis/${VERSION}/namespaces/team-a/clusters`]: list(cluster),
    [`GET /apis/${VERSION}/namespaces/team-a/clusters/prod-1`]: cluster,
  };
}

const freeze = (name: string): object => ({
  metadata: { namespace: "team-a", name, uid: name, resourceVersion: "1", generation: 1 },
  spec: {
    rules: [
      { name: "frozen", hooks: ["BeforeClusterUpgrade"], until: [{ name: "never", expression: "false" }] },
    ],
  },
});

/** `meanwhile`: what the API server says once the question is there. */
async function overridden(t: test.TestContext, meanwhile: Readonly<Record<string, object>>) {
  const answers: Record<string, object> = {
    ...SERVES_CLUSTERS,
    ...clusterAnswers("v1.35.0"),
    "GET /api/v1/namespaces/team-a": { metadata: { name: "team-a", uid: "uid-n", resourceVersion: "1" } },
    [POLICIES]: list(freeze("one")),
    "GET /apis/hookpolicy.dev/v1alpha1/clusterhookpolicies": list(),
    "GET /apis/hookpolicy.dev/v1alpha1/hookrollouts": list(),
    [`GET ${OVERRIDES}`]: list(),
  };
  const { kubeconfig, asked } = await answering(t, answers);
  const what = ["team-a/prod-1", "--hook", "BeforeClusterUpgrade", "--reason", "INC-1", "--for", "1h"];
  const { code, seen } = await onTerminal([MAIN, "override", ...what, "--kubeconfig", kubeconfig], () => {
    Object.assign(answers, meanwhile);
    return "y\r";
  });
  return { code, seen, isSent: asked.includes(`POST ${OVERRIDES}`) };
}

const CHANGES: Readonly<Record<string, Readonly<Record<string, object>>>> = {
  "another version": clusterAnswers("v1.36.0"),
  "another Cluster of the name": clusterAnswers("v1.35.0", "uid-2"),
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
