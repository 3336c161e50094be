/**
 * ServiceAccount tokens of ten minutes, the shortest that Kubernetes issues, until the first ones have expired. It takes a
 * quarter of an hour, and is run alone: make test-cluster FILE=test/cluster/long/tokens.test.ts
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import type { KubeObject } from "../../controlplane/client.ts";
import type { ControlPlane } from "../../controlplane/control-plane.ts";
import { applyPolicy, approvalRule, policyRef } from "../../controlplane/policies.ts";
import { attachCluster } from "../cluster.ts";
import { holdsUntilApproved } from "../held.ts";
import { installKustomized, NAMESPACE, removeRelease, replicas, SELECTOR } from "../operator-pods.ts";

const LIFETIME_S = 600;
const FOLDER = "/var/run/secrets/kubernetes.io/serviceaccount";
const EVERY_MS = 30_000;
/** The API server goes on accepting a token for some seconds, from its memory. */
const PAST_S = 60;

let cluster: ControlPlane;
before(async () => {
  cluster = await attachCluster();
  const sources = [
    { serviceAccountToken: { path: "token", expirationSeconds: LIFETIME_S } },
    { configMap: { name: "kube-root-ca.crt", items: [{ key: "ca.crt", path: "ca.crt" }] } },
    { downwardAPI: { items: [{ path: "namespace", fieldRef: { fieldPath: "metadata.namespace" } }] } },
  ];
  const pod = "/spec/template/spec";
  await installKustomized(cluster, "tokens", {
    "Deployment/hookpolicy": [
      { path: `${pod}/automountServiceAccountToken`, value: false },
      { path: `${pod}/volumes/-`, value: { name: "token", projected: { sources } } },
      {
        path: `${pod}/containers/0/volumeMounts/-`,
        value: { name: "token", mountPath: FOLDER, readOnly: true },
      },
    ],
  });
});
after(async () => {
  await removeRelease(cluster);
  await cluster?.stop();
});

/** When the token ends that kubelet has written into the Pod, in seconds of the epoch. */
async function expiryIn({ metadata }: KubeObject): Promise<number> {
  const read = `console.log(require("fs").readFileSync("${FOLDER}/token", "utf8"))`;
  const node = ["/nodejs/bin/node", "-e", read];
  const token = await cluster.kubectl("exec", "-n", NAMESPACE, metadata.name, "--", ...node);
  const [, claims = ""] = token.trim().split(".");
  const { exp }: { exp: number } = JSON.parse(Buffer.from(claims, "base64url").toString());
  return exp;
}

const identities = async (): Promise<readonly string[]> => {
  const pods = await replicas(cluster);
  return pods.map(({ status }): string => status.containerStatuses[0].containerID).toSorted();
};

test("the operator reads, writes and holds past the end of its first token, without a restart or a warning", async (t) => {
  const [pods, started] = [await replicas(cluster), await identities()];
  const first = Math.max(...(await Promise.all(pods.map(expiryIn))));
  assert.ok(first - Date.now() / 1000 <= LIFETIME_S);
  let written = 0;
  while (Date.now() / 1000 < first + PAST_S) {
    const spec = { rules: [approvalRule("BeforeClusterDelete")] };
    await applyPolicy(cluster, policyRef("team-tokens", `policy-${written++}`), spec); // Ready: a status was written
    await sleep(EVERY_MS);
  }
  const now = Math.min(...(await Promise.all(pods.map(expiryIn))));
  t.diagnostic(`${written} policies, and the next tokens end ${now - first} s later`);
  assert.ok(now > first);
  await holdsUntilApproved(cluster, "team-tokens-held");
  assert.deepEqual(await identities(), started);
  const logs = await cluster.kubectl("logs", "-n", NAMESPACE, "-l", SELECTOR, "--tail=-1");
  assert.deepEqual(
    logs.split("\n").filter((line) => / (?:WARN|ERROR) /.test(line)),
    [],
  );
});
