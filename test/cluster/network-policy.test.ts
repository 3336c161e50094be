/** The NetworkPolicy of manifests/network-policy, where something enforces it: what the operator needs passes, and no more. */

import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, test } from "node:test";
import type { KubeObject, ListRef } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { applyPolicy, approvalRule, policyIsReady, policyRef } from "../controlplane/policies.ts";
import { attachCluster } from "./cluster.ts";
import { ROOT } from "./folders.ts";
import { holdsUntilApproved } from "./held.ts";
import { enforceNetworkPolicies, ignoreNetworkPolicies } from "./nodes.ts";
import { installRelease, NAMESPACE, replicas, scale } from "./operator-pods.ts";
import { PRODUCT_IMAGE } from "./product.ts";

const POLICY = join(ROOT, "manifests/network-policy/networkpolicy.yaml");
const NODE_JS = "/nodejs/bin/node";
const PORTS = { webhook: 9443, admission: 9444, metrics: 8443, health: 9440 } as const;
/** Prometheus's, and any other one. */
const CLIENTS = ["monitoring", "elsewhere"] as const;

let cluster: ControlPlane;
before(async () => {
  cluster = await attachCluster();
  await installRelease(cluster);
  for (const namespace of CLIENTS) await startClient(namespace);
  await enforceNetworkPolicies();
});
after(async () => {
  await ignoreNetworkPolicies();
  await cluster?.kubectl("delete", "-f", POLICY, "--ignore-not-found");
  await cluster?.kubectl("delete", "namespace", ...CLIENTS, "--ignore-not-found", "--wait=false");
  await cluster?.stop();
});

/** A Pod that waits, to run programs in: of the operator's image, because the nodes have it. */
async function startClient(namespace: string): Promise<void> {
  const container = {
    name: "client",
    image: PRODUCT_IMAGE,
    command: [NODE_JS, "-e", "setInterval(() => {}, 1e6)"],
  };
  await cluster.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name: "client", namespace },
      spec: { containers: [container] },
    },
  ]);
  await cluster.kubectl("wait", "pod/client", "-n", namespace, "--for=condition=Ready", "--timeout=120s");
}

/** Whether a program in the Pod can open a connection. What is refused here gets no answer at all. */
async function reaches(namespace: string, pod: string, host: string, port: number): Promise<boolean> {
  const script = `
    const socket = require("net").connect({ host: "${host}", port: ${port}, timeout: 10_000 });
    const end = (word) => { console.log(word); process.exit(); };
    socket.on("connect", () => end("open")).on("timeout", () => end("silent")).on("error", (error) => end(error.code));`;
  const said = await cluster.kubectl("exec", "-n", namespace, pod, "--", NODE_JS, "-e", script);
  assert.match(said, /^(?:open|silent)\s*$/);
  return said.startsWith("open");
}

function addressOf(pod: KubeObject): string {
  return pod["status"].podIP;
}

/** The ports of every replica that the client's Pod reaches. */
async function portsReached(client: string): Promise<readonly string[]> {
  const found = await Promise.all(
    Object.entries(PORTS).map(async ([name, port]) => {
      const pods = await replicas(cluster);
      const open = await Promise.all(pods.map((pod) => reaches(client, "client", addressOf(pod), port)));
      assert.equal(new Set(open).size, 1, `${name} of one replica only`);
      return open[0] ? [name] : [];
    }),
  );
  return found.flat();
}

test("without the NetworkPolicy every Pod reaches every port", async () => {
  assert.deepEqual(await portsReached("elsewhere"), Object.keys(PORTS));
});

test("the NetworkPolicy lets the namespace monitoring reach metrics, others hooks and admission only, and nobody the probes", async () => {
  await cluster.kubectl("apply", "-f", POLICY);
  await cluster.waitFor("the nodes to enforce it", async () => {
    return (await portsReached("elsewhere")).length < Object.keys(PORTS).length;
  });
  assert.deepEqual(await portsReached("elsewhere"), ["webhook", "admission"]);
  assert.deepEqual(await portsReached("monitoring"), ["webhook", "admission", "metrics"]);
});

test("under it new replicas get ready, read and write, and Cluster API's Pod asks them", async () => {
  await scale(cluster, 0);
  await scale(cluster, 2);
  const spec = { rules: [approvalRule("BeforeClusterDelete")] };
  await policyIsReady(cluster, await applyPolicy(cluster, policyRef("team-net", "written"), spec));
  await holdsUntilApproved(cluster, "team-net");
});

test("under it the operator reaches the API server, and no other Pod", async () => {
  const selected: ListRef = {
    apiVersion: "v1",
    kind: "Pod",
    namespace: "kube-system",
    labelSelector: "k8s-app=kube-dns",
  };
  const [dns] = await cluster.list(selected);
  assert.ok(dns);
  for (const { metadata } of await replicas(cluster)) {
    assert.ok(await reaches(NAMESPACE, metadata.name, "kubernetes.default.svc.cluster.local", 443));
    assert.ok(await reaches(NAMESPACE, metadata.name, addressOf(dns), 53));
    assert.ok(!(await reaches(NAMESPACE, metadata.name, addressOf(dns), 8181)));
  }
  assert.ok(await reaches("elsewhere", "client", addressOf(dns), 8181));
});
