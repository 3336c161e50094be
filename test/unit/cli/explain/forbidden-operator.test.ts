/** `explain` where the user may read the objects of a gate and the operator may not: the operator decides. */

import assert from "node:assert/strict";
import test from "node:test";
import { answering, list, SERVES_CONFIG_MAPS, servingCluster } from "../api-server.ts";
import { rawCluster } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

const named = (name: string, more: object = {}): object => ({
  namespace: "team-a",
  name,
  uid: `uid-${name}`,
  resourceVersion: "1",
  generation: 1,
  ...more,
});
const FORBIDDEN =
  'the operator may not read configmaps: bind the verbs get, list and watch in a ClusterRole labelled hookpolicy.dev/aggregate-to-operator: "true"';
const object = { apiVersion: "v1", kind: "ConfigMap", name: "approved" };
const policy = (status: object): object => ({
  metadata: named("gated"),
  spec: {
    rules: [{ name: "ok", hooks: ["BeforeClusterDelete"], until: [{ name: "approved", object }] }],
  },
  status: { observedGeneration: 1, conditions: [{ type: "Ready", ...status }] },
});

async function explained(t: test.TestContext, status: object): Promise<string> {
  const { kubeconfig } = await answering(t, {
    ...servingCluster(rawCluster(named("prod-1")), { "namespaces/team-a/hookpolicies": [policy(status)] }),
    ...SERVES_CONFIG_MAPS,
    "GET /api/v1/namespaces/team-a/configmaps": list({ metadata: named("approved") }),
    "GET /apis/coordination.k8s.io/v1/leases": list(),
  });
  const args = ["explain", "team-a/prod-1", "--hook", "BeforeClusterDelete", "--kubeconfig", kubeconfig];
  const { stdout, stderr } = await hookpolicy(args);
  assert.equal(stderr, "");
  return stdout;
}

test("what the operator may not read holds the Cluster, although the user may read it", async (t) => {
  const ready = { status: "True", reason: "Loaded", message: "The policy is in force" };
  assert.match(await explained(t, ready), /^Allowed: /);
  const refused = { status: "False", reason: "ObjectsForbidden", message: FORBIDDEN };
  const text = await explained(t, refused);
  assert.match(text, /^(Blocked|NotEvaluable): BeforeClusterDelete/);
  assert.match(text, new RegExp(`^ +for +${FORBIDDEN} \\(HookPolicy team-a/gated, rule ok`, "m"));
  assert.match(
    text,
    /^ +run +kubectl create clusterrole hookpolicy-configmaps --verb=get,list,watch --resource=configmaps --kubeconfig \S+ && kubectl label clusterrole hookpolicy-configmaps hookpolicy\.dev\/aggregate-to-operator=true --kubeconfig \S+$/m,
  );
  assert.doesNotMatch(text, /proceeds/);
  const other = { ...refused, message: FORBIDDEN.replace("configmaps", "backups.velero.io") };
  assert.match(await explained(t, other), /^Allowed: /, "another kind");
});
