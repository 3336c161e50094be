/** What ends Pods of the operator under load: an update, a dead leader, no memory, a drain, a node without power, all nodes. */

import assert from "node:assert/strict";
import { after, before, test, type TestContext } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { controlPlaneBinaries } from "../controlplane/binaries.ts";
import type { KubeObject } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { deleteCluster } from "../controlplane/lab.ts";
import { APPROVED, policyRow, policyRef } from "../controlplane/policies.ts";
import { waitFor } from "../controlplane/waits.ts";
import { output } from "../install/tools.ts";
import { attachCluster, conditionOf, containersRun, isRolledOut, nodesAreReady } from "./cluster.ts";
import { type Call, CALL_TIMEOUT_MS, failuresOf, loadUntil, longestSilence } from "./load.ts";
import { cutNode, networkOf, NODES, onNode, startNode } from "./nodes.ts";
import { DEPLOYMENT, installRelease, NAMESPACE, nodeOf, replicas, scale, SELECTOR } from "./operator-pods.ts";

const LEASE = {
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  namespace: NAMESPACE,
  name: "hookpolicy",
};
const PATIENT = { timeoutMs: 180_000, everyMs: 500 };
/** The test of a process that hangs need not wait for the end of two minutes in which it does nothing. */
const LIVENESS = "/spec/template/spec/containers/0/livenessProbe";
const WARM_UP_MS = 2_000;
/** Until kube-proxy has followed a change of a Pod, on a busy machine. */
const ROUTED_MS = 5_000;

let cluster: ControlPlane;
before(async () => {
  cluster = await attachCluster();
  await installRelease(cluster);
});
after(async () => {
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

/** Its Pod's name, `_`, and what only this process of the Pod has. */
async function leader(): Promise<string> {
  return await cluster.waitFor("a replica to lead", async () => {
    const holder: string | undefined = (await cluster.get(LEASE))["spec"].holderIdentity;
    return holder;
  });
}

async function podOf(name: string): Promise<KubeObject> {
  return await cluster.get({ apiVersion: "v1", kind: "Pod", namespace: NAMESPACE, name });
}

interface ContainerStatus {
  readonly containerID: string;
  readonly restartCount: number;
  readonly lastState: { readonly terminated?: { readonly reason: string } };
}

function containerOf(pod: KubeObject): ContainerStatus {
  return pod["status"].containerStatuses[0];
}

/** Lowers what its container may take to what it has taken: the next call is too much. */
async function takeMemory(pod: KubeObject): Promise<void> {
  const id = containerOf(pod).containerID.replace("containerd://", "");
  const lower = "echo $(($(cat memory.usage_in_bytes) - 262144)) >memory.limit_in_bytes";
  const group = `/sys/fs/cgroup/memory/kubepods/*/pod${pod.metadata.uid}/${id}`;
  // Until the kernel refuses it, or the process has ended.
  const script = `cd ${group} && for n in $(seq 1000); do (${lower}) 2>/dev/null || exit 0; done`;
  await onNode(Number(nodeOf(pod).slice(1)), "sh", "-c", script);
}

/** To the operator's process, on its node. */
async function signal(name: string, what: "SIGKILL" | "SIGSTOP"): Promise<void> {
  const pod = await podOf(name);
  const id = containerOf(pod).containerID.replace("containerd://", "");
  await onNode(Number(nodeOf(pod).slice(1)), "ctr", "-n", "k8s.io", "tasks", "kill", "-s", what, id);
}

test("a rolling update fails no call", async (t) => {
  const old = (await replicas(cluster)).map(({ metadata }) => metadata.uid);
  const calls = await underLoad(t, async () => {
    const patch = JSON.stringify([
      { op: "add", path: `${LIVENESS}/terminationGracePeriodSeconds`, value: 5 },
      { op: "replace", path: `${LIVENESS}/periodSeconds`, value: 5 },
    ]);
    await cluster.kubectl("patch", "-n", NAMESPACE, "deployment/hookpolicy", "--type=json", "-p", patch);
    await isRolledOut(cluster, NAMESPACE, DEPLOYMENT.name);
    await cluster.waitFor("the old replicas to be gone", async () => {
      const pods = await cluster.list({ apiVersion: "v1", kind: "Pod", namespace: NAMESPACE });
      return !pods.some(({ metadata }) => old.includes(metadata.uid));
    });
  });
  assert.deepEqual(failuresOf(calls), []);
  assert.deepEqual((await replicas(cluster)).map(nodeOf).toSorted(), ["n1", "n2"]);
});

test("after a kill -9 of the leader another process leads, and each connection loses one call at most", async (t) => {
  const dead = await leader();
  const calls = await underLoad(t, async () => {
    await signal(dead.replace(/_.*/, ""), "SIGKILL");
    // The other replica, or the Pod's next process, which has as long to wait for the end of the Lease.
    await cluster.waitFor("another process to lead", async () => (await leader()) !== dead);
    await isRolledOut(cluster, NAMESPACE, DEPLOYMENT.name);
  });
  assert.equal(failuresPerConnection(calls), 1);
  assert.ok(longestSilence(calls) < CALL_TIMEOUT_MS);
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
  assert.ok(longestSilence(calls) < CALL_TIMEOUT_MS);
  assert.deepEqual(failuresOf(calls.filter(({ from }) => from > unready)), []);
});

test("a replica without memory is ended by the kernel and started again, and each connection loses one call at most", async (t) => {
  const [pod] = await replicas(cluster);
  assert.ok(pod);
  const { name } = pod.metadata;
  const { restartCount } = containerOf(pod);
  const calls = await underLoad(t, async () => {
    await cluster.waitFor("kubelet to restart it", async () => {
      if (containerOf(await podOf(name)).restartCount > restartCount) return true;
      await takeMemory(pod); // again and again: a process that is asked little gives some back before it takes more
      return false;
    });
    await isRolledOut(cluster, NAMESPACE, DEPLOYMENT.name);
  });
  assert.equal(containerOf(await podOf(name)).lastState.terminated?.reason, "OOMKilled");
  assert.ok(failuresPerConnection(calls) <= 1);
  assert.ok(longestSilence(calls) < CALL_TIMEOUT_MS);
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
  assert.ok(longestSilence(calls) < CALL_TIMEOUT_MS);
  // Not none: conntrack sends a new connection from a port that was used before to where it went then, for two minutes.
  const late = calls.filter(({ from }) => from > replaced);
  const lost = late.filter(({ failure }) => failure !== undefined).length;
  t.diagnostic(`then ${lost} of ${late.length} calls failed`);
  assert.ok(lost < late.length / 20);
});

/** The last one of all files: this process stays in a network that ends with its node. */
test("after the power cut of all nodes what was held is held, and released when it is approved", async (t) => {
  await scale(cluster, 0);
  await scale(cluster, 2);
  const [namespace, name] = ["load", "held"];
  await deleteCluster(cluster, namespace, name);
  await policyRow(cluster, policyRef(namespace, "protect"), name, "BeforeClusterDelete");
  const started = restartsOf(await replicas(cluster));
  for (let node = NODES; node > 0; node--) await cutNode(node);
  const begin = performance.now();
  const seconds = (): string => `${((performance.now() - begin) / 1000).toFixed(0)} s`;
  for (let node = 1; node <= NODES; node++) await startNode(node);
  const get = async (...args: readonly string[]): Promise<KubeObject> =>
    JSON.parse(await kubectlAfterCut("get", "--output=json", ...args));
  const podsOf = async (): Promise<readonly KubeObject[]> =>
    (await get("pod", "-n", NAMESPACE, "-l", SELECTOR))["items"];
  await waitFor("the replicas to run again", async () => restartsOf(await podsOf()) >= started + 2, PATIENT);
  t.diagnostic(`the replicas run after ${seconds()}`);
  const ready = async (): Promise<boolean> =>
    (await podsOf()).every((pod) => conditionOf(pod, "Ready") === "True");
  await waitFor("the replicas to be ready", ready, PATIENT);
  t.diagnostic(`they are ready after ${seconds()}`);
  assert.notEqual((await get("cluster", "-n", namespace, name)).metadata.deletionTimestamp, undefined);
  const approve = async (): Promise<string> =>
    await kubectlAfterCut("annotate", "cluster", "-n", namespace, name, `${APPROVED}=true`);
  await waitFor("Cluster API's webhook to let the approval pass", approve, PATIENT);
  const gone = async (): Promise<boolean> =>
    (await get("cluster", "-A", "--field-selector", `metadata.name=${name}`))["items"].length === 0;
  await waitFor("the Cluster to be gone", gone, PATIENT);
  t.diagnostic(`the Cluster is gone after ${seconds()}`);
});

function restartsOf(pods: readonly KubeObject[]): number {
  return pods.reduce((sum, pod) => sum + containerOf(pod).restartCount, 0);
}

/** From the network that the first node has since then. */
async function kubectlAfterCut(...args: readonly string[]): Promise<string> {
  const { kubectl } = await controlPlaneBinaries();
  const there = [`--net=${networkOf(1)}`, "--", kubectl, "--kubeconfig", cluster.adminKubeconfig];
  return await output("nsenter", [...there, ...args]);
}

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
