/** What `kubectl apply -f hookpolicy.yaml` makes of a cluster with kubelets, a scheduler and Services. */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { ControlPlane } from "../controlplane/controlplane.ts";
import { attachCluster } from "./cluster.ts";
import { holdsUntilApproved } from "./held.ts";
import {
  hookpolicy,
  installRelease,
  NAMESPACE,
  nodeOf,
  replicas,
  scale,
  SELECTOR,
  warnings,
} from "./operatorpods.ts";

const SCALINGS = 4;

let cluster: ControlPlane;
before(async () => {
  cluster = await attachCluster();
  await installRelease(cluster);
});
/** The next files go on with this installation. */
after(async () => {
  await cluster?.stop();
});

/** Where the machine is so busy that Node.js takes longer than that to listen, kubelet's first probe is refused. */
const BUSY = /connection refused|Client.Timeout/;

test("a replica starts without a Warning, and is ready when it has loaded", async (t) => {
  const all = await warnings(cluster);
  t.diagnostic(`${all.length} Warnings of a busy machine`);
  assert.deepEqual(
    all.filter((warning) => !BUSY.test(warning)),
    [],
  );
});

test("the log of a start has no warning, and says which kinds were listed", async () => {
  const logs = await cluster.kubectl("logs", "-n", NAMESPACE, "-l", SELECTOR, "--tail=-1");
  const lines = logs.split("\n");
  assert.deepEqual(
    lines.filter((line) => / (?:WARN|ERROR) /.test(line)),
    [],
  );
  const listed = lines.filter((line) => line.includes("Listed for the first time"));
  assert.ok(listed.length > 0);
  assert.ok(listed.every((line) => / resource=\S+ objects=\d+/.test(line)));
});

test("the replicas run on different nodes, whenever they are started", async () => {
  const seen: string[][] = [];
  for (let n = 0; n < SCALINGS; n++) {
    await scale(cluster, 0);
    await scale(cluster, 2);
    seen.push((await replicas(cluster)).map(nodeOf).toSorted());
  }
  assert.deepEqual(
    seen,
    Array.from({ length: SCALINGS }, () => ["n1", "n2"]),
  );
});

test("Cluster API's Pod asks the operator's Pods, and deletes a Cluster when it is approved", async () => {
  await holdsUntilApproved(cluster, "team-a");
});

test("without a replica `hookpolicy doctor` says that the statuses of policies are old", async () => {
  await scale(cluster, 0);
  await assert.rejects(hookpolicy(cluster, "doctor"), /statuses are old: no replica of the operator runs/);
  await scale(cluster, 2);
});
