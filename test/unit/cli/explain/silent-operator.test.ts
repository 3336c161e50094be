/** `explain` where the operator does not answer: its first line says so. */

import assert from "node:assert/strict";
import test from "node:test";
import { answering, SERVES_CLUSTERS } from "../api-server.ts";
import { hookpolicy } from "../resident.ts";

const list = (...items: readonly object[]): object => ({ metadata: { resourceVersion: "1" }, items });
const metadata = { namespace: "team-a", name: "prod-1", uid: "uid-1", resourceVersion: "1" };
const spec = { topology: { classRef: { name: "lab" }, version: "v1.35.0" } };
const VERSION = "cluster.x-k8s.io/v1beta2";

async function firstLine(
  t: test.TestContext,
  status: object,
  leases: readonly object[],
  clock?: Date,
): Promise<string> {
  const cluster = { apiVersion: VERSION, kind: "Cluster", metadata, spec, status };
  const answers = {
    ...SERVES_CLUSTERS,
    [`GET /apis/${VERSION}/namespaces/team-a/clusters`]: list(cluster),
    [`GET /apis/${VERSION}/namespaces/team-a/clusters/prod-1`]: cluster,
    "GET /api/v1/namespaces/team-a": { metadata: { name: "team-a", uid: "uid-n", resourceVersion: "1" } },
    "GET /apis/hookpolicy.dev/v1alpha1/namespaces/team-a/hookpolicies": list(),
    "GET /apis/hookpolicy.dev/v1alpha1/hookpolicies": list(),
    "GET /apis/hookpolicy.dev/v1alpha1/clusterhookpolicies": list(),
    "GET /apis/hookpolicy.dev/v1alpha1/hookrollouts": list(),
    "GET /apis/hookpolicy.dev/v1alpha1/hookoverrides": list(),
    "GET /apis/coordination.k8s.io/v1/leases": list(...leases),
  };
  const { kubeconfig } = await answering(t, answers, clock);
  const args = ["explain", "team-a/prod-1", "--hook", "BeforeClusterDelete", "--kubeconfig", kubeconfig];
  const { stdout, stderr } = await hookpolicy(args);
  assert.equal(stderr, "");
  return stdout.split("\n")[0] ?? "";
}

const renewed = (renewTime: string): object => ({
  metadata: { namespace: "hookpolicy-system", name: "hookpolicy", resourceVersion: "1" },
  spec: { renewTime },
});
const CALL = `failed to call extension handler "before-cluster-delete.hookpolicy": http call failed: context deadline exceeded`;
const failed = {
  conditions: [{ type: "TopologyReconciled", status: "False", message: `error: ${CALL}\nmore` }],
};

test("explain says first that calls fail, or that no operator runs", async (t) => {
  const now = new Date().toISOString();
  assert.equal(
    await firstLine(t, failed, [renewed(now)]),
    `note: Cluster API's last call failed, and the Cluster stays as it is until one succeeds: ${CALL}; see 'hookpolicy doctor'`,
  );
  const cause = "dial tcp 10.96.0.7:443: connect: connection refused";
  const message = `${CALL}: Post "https://hookpolicy.svc/${"hooks/".repeat(60)}": ${cause}`;
  const long = { conditions: [{ type: "TopologyReconciled", status: "False", message }] };
  assert.ok((await firstLine(t, long, [renewed(now)])).endsWith(`: ${cause}; see 'hookpolicy doctor'`));
  const silent =
    /^note: the operator's last sign of life is \S+ old: it seems not to run; while none runs, Cluster API's calls fail/;
  assert.match(await firstLine(t, {}, [renewed("2020-01-01T00:00:00Z")]), silent);
  assert.match(await firstLine(t, {}, []), /^Allowed: /, "one without --leader-elect has no Lease");
  assert.match(
    await firstLine(t, {}, [renewed(now)]),
    /^Allowed: BeforeClusterDelete of Cluster team-a\/prod-1/,
  );
});

test("an operator that runs does not seem silent to a machine whose clock is ahead", async (t) => {
  const clock = new Date("2026-01-01T00:00:00Z");
  assert.match(await firstLine(t, {}, [renewed(clock.toISOString())], clock), /^Allowed: /);
});
