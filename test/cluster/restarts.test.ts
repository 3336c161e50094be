/** What ends Pods of the operator under load: an update, a dead leader, a drain, a node without power. */

import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/controlplane.ts";
import { attachCluster, conditionOf, containersRun, isRolledOut, nodesAreReady } from "./cluster.ts";
import { type Call, failuresOf, loadUntil, longestSilence } from "./load.ts";
import { cutNode, onNode, startNode } from "./nodes.ts";
import {
  DEPLOYMENT,
  installRelease,
  NAMESPACE,
  nodeOf,
  removeRelease,
  replicas,
  scale,
} from "./operatorpods.ts";

const LEASE = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  namespace: NAMESPACE,
  name: "hookpolicy",
};
const WARM_UP_MS = 2_000;
/** Until kube-proxy has followed a change of a Pod, on a busy machine. */
const ROUTED_MS = 5_000;

let cluster: ControlPlane;
before(async () => {
  cluster = await attachCluster();
  await installRelease(cluster);
});
after(async () => {
  await removeRelease(cluster);
  await cluster?.stop();
});

async function underLoad(t: TestContext, work: () => Promise<void>): Promise<readonly Call[]> {
  const calls = await loadUntil(cluster, async () => {
    await sleep(WARM_UP_MS);
    await work();
    await sleep(WARM_UP_MS);
  });
  const silence = (longestSilence(calls) / 1000).toFixed(1);
  t.diagnostic(`${calls.length} calls, ${silence} s without an answer at most`);
  for (const failure of failuresOf(calls)) t.diagnostic(failure);
  return calls;
}

async function leader(): Promise<string> {
  return await cluster.waitFor("a replica to lead", async () => {
    const holder: string | undefined = (await cluster.get(LEASE))["spec"].holderIdentity;
    return holder?.split("_")[0];
  });
}

async function podOf(name: string): Promise<KubeObject> {
  return await cluster.get({ apiVersion: "v1", kind: "Pod", namespace: NAMESPACE, name });
}

function containerOf(pod: KubeObject): { readonly containerID: string; readonly restartCount: number } {
  return pod["status"].containerStatuses[0];
}

/** To the operator's process, on its node. */
async function signal(name: string, what: "SIGKILL" | "SIGSTOP"): Promise<void> {
  const pod = await podOf(name);
  const id = containerOf(pod).containerID.replace("containerd://", "");
  await onNode(Number(nodeOf(pod).slice(1)), "ctr", "-n", "k8s.io", "tasks", "kill", "-s", what, id);
}

test("a rolling restart fails no call", async (t) => {
  const old = (await replicas(cluster)).map(({ metadata }) => metadata.uid);
  const calls = await underLoad(t, async () => {
    await cluster.kubectl("rollout", "restart", "-n", NAMESPACE, "deployment/hookpolicy");
    await isRolledOut(cluster, NAMESPACE, DEPLOYMENT.name);
    await cluster.waitFor("the old replicas to be gone", async () => {
      const pods = await cluster.list({ apiVersion: "v1", kind: "Pod", namespace: NAMESPACE });
      return !pods.some(({ metadata }) => old.includes(metadata.uid));
    });
  });
  assert.deepEqual(failuresOf(calls), []);
  assert.deepEqual((await replicas(cluster)).map(nodeOf).toSorted(), ["n1", "n2"]);
});

test("after a kill -9 of the leader another leads, and each connection loses one call at most", async (t) => {
  const name = await leader();
  const calls = await underLoad(t, async () => {
    await signal(name, "SIGKILL");
    await cluster.waitFor("the other to lead", async () => (await leader()) !== name);
    await isRolledOut(cluster, NAMESPACE, DEPLOYMENT.name);
  });
  assert.equal(failuresPerConnection(calls), 1);
  assert.ok(longestSilence(calls) < 5_000);
});

test("a process that hangs gets no more calls when it is not ready, and kubelet restarts it", async (t) => {
  const [pod] = await replicas(cluster);
  assert.ok(pod);
  const { name } = pod.metadata;
  const restarts = containerOf(pod).restartCount;
  const begin = performance.now();
  const seconds = (): string => ((performance.now() - begin) / 1000).toFixed(0);
  let unready = Infinity;
  const calls = await underLoad(t, async () => {
    await signal(name, "SIGSTOP");
    await cluster.waitFor(
      "it not to be ready",
      async () => conditionOf(await podOf(name), "Ready") === "False",
    );
    t.diagnostic(`not ready after ${seconds()} s`);
    unready = performance.now() - begin + ROUTED_MS;
    await cluster.waitFor(
      "kubelet to restart it",
      async () => containerOf(await podOf(name)).restartCount > restarts,
      240_000,
    );
    t.diagnostic(`restarted after ${seconds()} s`);
    await isRolledOut(cluster, NAMESPACE, DEPLOYMENT.name);
  });
  assert.ok(failuresPerConnection(calls) <= 1);
  assert.ok(longestSilence(calls) < 5_000);
  assert.deepEqual(failuresOf(calls.filter(({ from }) => from > unready)), []);
});

test("a drain of a node evicts one replica after the other, and fails no call", async (t) => {
  const calls = await underLoad(t, async () => {
    await cluster.kubectl("drain", "n2", "--ignore-daemonsets", "--timeout=120s");
    await cluster.kubectl("uncordon", "n2");
    await isRolledOut(cluster, NAMESPACE, DEPLOYMENT.name);
  });
  assert.deepEqual(failuresOf(calls), []);
  await scale(cluster, 0);
  await scale(cluster, 2);
});

test("after the power cut of a node each connection loses one call at most, and new ones are answered", async (t) => {
  assert.deepEqual((await replicas(cluster)).map(nodeOf).toSorted(), ["n1", "n2"]);
  let cut = 0;
  let replaced = 0;
  const begin = performance.now();
  const calls = await underLoad(t, async () => {
    await cutNode(2);
    cut = performance.now() - begin;
    await cluster.waitFor(
      "two replicas to be ready on the other node",
      async () => {
        const pods = await replicas(cluster);
        return pods.length === 2 && pods.every((pod) => nodeOf(pod) === "n1") && (await isAvailable());
      },
      240_000,
    );
    replaced = performance.now() - begin;
  });
  t.diagnostic(`replaced after ${((replaced - cut) / 1000).toFixed(0)} s`);
  await startNode(2);
  await containersRun(2);
  await nodesAreReady(cluster);
  assert.ok(failuresPerConnection(calls) <= 1);
  assert.ok(longestSilence(calls) < 5_000);
  // Not none: conntrack sends a new connection from a port that was used before to where it went then, for two minutes.
  const late = calls.filter(({ from }) => from > replaced);
  const lost = late.filter(({ failure }) => failure !== undefined).length;
  t.diagnostic(`then ${lost} of ${late.length} calls failed`);
  assert.ok(lost < late.length / 20);
});

async function isAvailable(): Promise<boolean> {
  return (await cluster.get(DEPLOYMENT))["status"].availableReplicas === 2;
}

/** The most that one connection has lost. */
function failuresPerConnection(calls: readonly Call[]): number {
  const failed = calls.filter(({ failure }) => failure !== undefined);
  return Math.max(
    0,
    ...Map.groupBy(failed, ({ connection }) => connection)
      .values()
      .map((those) => those.length),
  );
}
