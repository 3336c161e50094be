/** `simulate` where the user may read the objects of a gate and the operator may not: the operator decides. */

import assert from "node:assert/strict";
import test from "node:test";
import { answering, list, listing, SERVES_CLUSTERS, SERVES_CONFIG_MAPS } from "../api-server.ts";
import { folder } from "../program.ts";
import { rawCluster, rawPolicy } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

const metadata = (name: string): object => ({
  namespace: "team-a",
  name,
  uid: `uid-${name}`,
  resourceVersion: "1",
});
const POLICY = rawPolicy(metadata("gated"), {
  rules: [
    {
      name: "ok",
      hooks: ["BeforeClusterDelete"],
      until: [{ name: "approved", object: { apiVersion: "v1", kind: "ConfigMap", name: "approved" } }],
    },
  ],
});
const FORBIDDEN =
  'the operator may not read configmaps: bind the verbs get, list and watch in a ClusterRole labelled hookpolicy.dev/aggregate-to-operator: "true"';

test("what the operator may not read is not evaluable, although the user may read it", async (t) => {
  const condition = { type: "Ready", status: "False", reason: "ObjectsForbidden", message: FORBIDDEN };
  const { kubeconfig } = await answering(t, {
    ...SERVES_CLUSTERS,
    "GET /apis/cluster.x-k8s.io/v1beta2/clusters": list(rawCluster(metadata("prod-1"))),
    ...SERVES_CONFIG_MAPS,
    "GET /api/v1/namespaces": list({ metadata: { name: "team-a", uid: "uid-n", resourceVersion: "1" } }),
    "GET /api/v1/configmaps": list({ metadata: metadata("approved") }),
    ...listing({
      hookpolicies: [{ ...POLICY, status: { conditions: [condition] } }],
      clusterhookpolicies: [],
    }),
  });
  const cwd = await folder(t, { "policy.yaml": JSON.stringify(POLICY) });
  const { code, stderr } = await hookpolicy(["simulate", "-f", "policy.yaml", "--kubeconfig", kubeconfig], {
    cwd,
  });
  assert.equal(code, 0, stderr);
  assert.match(
    stderr,
    /^warning: HookPolicy team-a\/gated rule ok is not evaluable \(.*may not read configmaps/m,
  );
});
