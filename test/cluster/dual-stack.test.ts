/** The operator where its Service has no address but one of IPv6, and it reaches the API server over IPv6, too. */

import assert from "node:assert/strict";
import { isIPv6 } from "node:net";
import { after, before, test } from "node:test";
import type { KubeObject } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { API_SERVER_IPV6 } from "./addresses.ts";
import { attachCluster } from "./cluster.ts";
import { holdsUntilApproved, refusesFaulty } from "./held.ts";
import { failuresOf, inUrl, loadUntil } from "./load.ts";
import { installKustomized, NAMESPACE, removeRelease, replicas } from "./operator-pods.ts";

const SERVICE = "hookpolicy-webhook-service";
const HEALTH_PORT = 9440;
/** As /proc/net/tcp6 writes it. */
const API_SERVER_PORT = (6443).toString(16).toUpperCase();
const ESTABLISHED = "01";

let cluster: ControlPlane;
before(async () => {
  cluster = await attachCluster();
  const env = "/spec/template/spec/containers/0/env/-";
  await installKustomized(cluster, "ipv6", {
    [`Service/${SERVICE}`]: [
      { path: "/spec/ipFamilyPolicy", value: "SingleStack" },
      { path: "/spec/ipFamilies", value: ["IPv6"] },
    ],
    "Deployment/hookpolicy": [
      { path: env, value: { name: "KUBERNETES_SERVICE_HOST", value: API_SERVER_IPV6 } },
      { path: env, value: { name: "KUBERNETES_SERVICE_PORT", value: "6443" } },
    ],
  });
});
after(async () => {
  await removeRelease(cluster);
  await cluster?.stop();
});

function addressOf(pod: KubeObject): string {
  const addresses: readonly { ip: string }[] = pod["status"].podIPs;
  const found = addresses.map(({ ip }) => ip).find((ip) => isIPv6(ip));
  assert.ok(found !== undefined, `${pod.metadata.name} has no address of IPv6`);
  return found;
}

/** The state of each connection of the Pod to the API server, in this file of the kernel. */
async function connectionsOf({ metadata }: KubeObject, file: "tcp" | "tcp6"): Promise<readonly string[]> {
  const read = `console.log(require("fs").readFileSync("/proc/net/${file}", "utf8"))`;
  const command = ["exec", "-n", NAMESPACE, metadata.name, "--", "/nodejs/bin/node", "-e", read];
  const lines = (await cluster.kubectl(...command)).trim().split("\n").slice(1);
  const fields = lines.map((line) => line.trim().split(/\s+/));
  return fields
    .filter(([, , remote]) => remote?.endsWith(`:${API_SERVER_PORT}`))
    .map(([, , , state = ""]) => state);
}

test("each replica answers on its address of IPv6, and reaches the API server over IPv6 alone", async () => {
  const pods = await replicas(cluster);
  assert.equal(pods.length, 2);
  for (const pod of pods) {
    const { status } = await fetch(`http://${inUrl(addressOf(pod))}:${HEALTH_PORT}/readyz`);
    assert.equal(status, 200);
    assert.ok((await connectionsOf(pod, "tcp6")).includes(ESTABLISHED));
    assert.deepEqual(await connectionsOf(pod, "tcp"), []);
  }
});

test("Cluster API's Pod and the API server ask through a Service that has an address of IPv6 alone, and no call fails", async () => {
  const service = await cluster.get({
    apiVersion: "v1",
    kind: "Service",
    namespace: NAMESPACE,
    name: SERVICE,
  });
  assert.deepEqual(service["spec"].clusterIPs.map(isIPv6), [true]);
  const calls = await loadUntil(cluster, async () => {
    await holdsUntilApproved(cluster, "team-six");
    await refusesFaulty(cluster, "team-six");
  });
  assert.deepEqual(failuresOf(calls), []);
});
