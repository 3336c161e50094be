/** What commands say where something that they need is not in the API server. */

import assert from "node:assert/strict";
import test from "node:test";
import { answering, list } from "../api-server.ts";
import { hookpolicy } from "../resident.ts";

const CLUSTERS = "/apis/cluster.x-k8s.io/v1beta2";
const NAMES = list({ metadata: { namespace: "team-a", name: "prod-1" } });

for (const command of ["explain", "approve"]) {
  test(`${command} says that Cluster API is not installed`, async (t) => {
    const { kubeconfig } = await answering(t, {});
    const { code, stderr } = await hookpolicy([command, "team-a/prod-1", "--kubeconfig", kubeconfig]);
    assert.equal(code, 2);
    const why = "the API server serves no Clusters: Cluster API is not installed in this cluster";
    assert.equal(stderr, `error: ${why}\n`);
  });
}

test("explain finds the namespace of a Cluster that was looked for in another one", async (t) => {
  const { kubeconfig } = await answering(t, {
    "GET /apis/cluster.x-k8s.io": { versions: [{ version: "v1beta2" }] },
    [`GET ${CLUSTERS}/clusters`]: NAMES,
  });
  for (const [typed, key] of [
    ["platform/prod-1", "platform/prod-1"],
    ["prod-1", "default/prod-1"],
  ] as const) {
    const { code, stderr } = await hookpolicy(["explain", typed, "--kubeconfig", kubeconfig]);
    assert.equal(code, 2);
    assert.equal(stderr, `error: there is no Cluster ${key} (did you mean team-a/prod-1?)\n`);
  }
});

test("rollout says that its kind is not served, and not that one rollout is missing", async (t) => {
  const { kubeconfig } = await answering(t, {});
  const { code, stderr } = await hookpolicy(["rollout", "status", "upgrades", "--kubeconfig", kubeconfig]);
  assert.equal(code, 2);
  assert.match(
    stderr,
    /^error: the API server serves no HookRollouts: HookPolicy, or its CRDs, are not installed/,
  );
});
