/** What `kubectl apply -f hookpolicy.yaml` makes of a cluster with kubelets, a scheduler and Services. */

import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import type { ControlPlane } from "../controlplane/control-plane.ts";
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
} from "./operator-pods.ts";

const SCALINGS = 4;
const STARTS = 3;

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
  const warned = await leastOfStarts(t, async () => {
    const all = await warnings(cluster);
    return all.filter((warning) => !BUSY.test(warning));
  });
  assert.deepEqual(warned, []);
});

test("the log of a start has no warning, and says which kinds were listed", async (t) => {
  assert.deepEqual(
    await leastOfStarts(t, async () => (await logLines()).filter((line) => / (?:WARN|ERROR) /.test(line))),
    [],
  );
  const listed = (await logLines()).filter((line) => line.includes("Listed for the first time"));
  assert.ok(listed.length > 0);
  assert.ok(listed.every((line) => / resource=\S+ objects=\d+/.test(line)));
});

/** What each start shows, where up to STARTS are looked at: a busy kubelet or API server makes warnings of its own. */
async function leastOfStarts(t: TestContext, look: () => Promise<string[]>): Promise<string[]> {
  for (let start = 1; ; start++) {
    const seen = await look();
    if (seen.length === 0 || start === STARTS) return seen;
    for (const line of seen) t.diagnostic(`start ${start}: ${line}`);
    await scale(cluster, 0);
    await scale(cluster, 2);
  }
}

async function logLines(): Promise<string[]> {
  const logs = await cluster.kubectl("logs", "-n", NAMESPACE, "-l", SELECTOR, "--tail=-1");
  return logs.split("\n");
}

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
