/** `doctor` reads the Lease, because a Deployment can count as available though no operator runs. */

import assert from "node:assert/strict";
import test from "node:test";
import { answering } from "../api-server.ts";
import { hookpolicy } from "../resident.ts";
import { deployment, OURS } from "./evidence-fixture.ts";

test("doctor says that the operator's last sign of life is old, by the API server's clock", async (t) => {
  const clock = new Date("2026-01-01T00:01:14Z");
  const found = async (renewTime: string): Promise<string> => {
    const list = (item: object): object => ({ metadata: { resourceVersion: "1" }, items: [item] });
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
  assert.match(await found("2026-01-01T00:00:00Z"), silent);
  assert.match(await found("2026-01-01T00:01:10Z"), /^ok +operator /m);
});
