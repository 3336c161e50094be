/** A Deployment can count as available though no operator runs, or none is reached: `doctor` reads the Lease, and failed calls. */

import assert from "node:assert/strict";
import test from "node:test";
import { answering, list } from "../api-server.ts";
import { hookpolicy } from "../resident.ts";
import { authority, cluster, deployment, foreign, found, OURS, secretOf, table } from "./evidence-fixture.ts";

const failedCall = {
  type: "TopologyReconciled",
  status: "False",
  message: 'failed to call extension handler "h": timeout',
};
const clusters = found([{ ...cluster("c1"), status: { conditions: [failedCall] } }]);

table("calls", {
  "a call that failed though operator and certificate seem well leads to its Pods, its log and the network": {
    given: { clusters },
    error:
      / → kubectl get pods -n ns -l .*; kubectl logs -n ns -l \S+ --tail=-1 --prefix --since=1h; .* port 9443: kubectl get networkpolicies -A$/m,
  },
  "a call that failed as the certificate does leads to that": {
    given: { clusters, secrets: secretOf(foreign, authority.certificate) },
    error: / → do first what the checks operator and certificate say/,
  },
});

test("doctor says that the operator's last sign of life is old, by the API server's clock", async (t) => {
  const clock = new Date("2026-01-01T00:01:14Z");
  const printed = async (renewTime: string): Promise<string> => {
    const lease = { metadata: { name: "hookpolicy", resourceVersion: "1" }, spec: { renewTime } };
    const answers = {
      "GET /version": { gitVersion: "v1.36.0" },
      "GET /apis/apps/v1/deployments": list(deployment(OURS, "", [])),
      "GET /apis/coordination.k8s.io/v1/leases": list(lease),
    };
    const { kubeconfig } = await answering(t, answers, clock);
    return (await hookpolicy(["doctor", "--kubeconfig", kubeconfig])).stdout;
  };
  const silent = /^error +operator +the operator's last sign of life is 7\ds old: it seems not to run/m;
  assert.match(await printed("2026-01-01T00:00:00Z"), silent);
  assert.match(await printed("2026-01-01T00:01:10Z"), /^ok +operator /m);
});
