/** The manifests and the chart for cert-manager, and cert-manager itself: what it issues is served, trusted, and renewed. */

import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { connect } from "node:tls";
import type { KubeObject, Ref } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { helmIn } from "../install/tools.ts";
import { installCertManager, removeCertManager } from "./cert-manager-pods.ts";
import { holdsUntilApproved, refusesFaulty } from "./held.ts";
import { failuresOf, loadUntil } from "./load.ts";
import {
  CRDS,
  EXTENSION,
  installRelease,
  isInstalled,
  leftovers,
  NAMESPACE,
  removeRelease,
  replicas,
  SERVING,
} from "./operator-pods.ts";
import { attachCluster, conditionOf } from "./cluster.ts";
import { CHART } from "./product.ts";

const MANIFEST = "hookpolicy-cert-manager.yaml";
const WEBHOOK_PORT = 9443;
const WEBHOOK: Ref = {
  apiVersion: "admissionregistration.k8s.io/v1",
  kind: "ValidatingWebhookConfiguration",
  name: "hookpolicy",
};
/** Until kubelet has written a changed Secret into the Pods. */
const MOUNTED_MS = 180_000;

let cluster: ControlPlane;
before(async () => {
  cluster = await attachCluster();
  await installCertManager(cluster);
  await installRelease(cluster, MANIFEST);
});
after(async () => {
  await cluster?.kubectl("delete", "crd", ...CRDS, "--ignore-not-found");
  await cluster?.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found");
  await removeCertManager(cluster);
  await cluster?.stop();
});

function certificateRef(name: string): Ref {
  return { apiVersion: "cert-manager.io/v1", kind: "Certificate", namespace: NAMESPACE, name };
}

async function published(key: "tls.crt" | "ca.crt"): Promise<X509Certificate> {
  return new X509Certificate(Buffer.from((await cluster.get(SERVING))["data"][key], "base64"));
}

/** What a Pod shows of itself on its own address; every client is shown the same. */
async function servedBy(pod: KubeObject): Promise<X509Certificate> {
  const address = { host: pod["status"].podIP, port: WEBHOOK_PORT };
  const socket = connect({ ...address, servername: "any", rejectUnauthorized: false });
  await once(socket, "secureConnect");
  const certificate = socket.getPeerX509Certificate();
  socket.destroy();
  assert.ok(certificate);
  return certificate;
}

async function everyReplicaServes({ fingerprint256 }: X509Certificate): Promise<void> {
  const all = async (): Promise<boolean> => {
    const served = await Promise.all((await replicas(cluster)).map(servedBy));
    return (
      served.length === 2 && served.every((certificate) => certificate.fingerprint256 === fingerprint256)
    );
  };
  await cluster.waitFor("every replica to serve the certificate of the Secret", all, MOUNTED_MS);
}

/** As `cmctl renew` does it; resolves when the Secret has the next one. */
async function renew(name: string): Promise<void> {
  const { status } = await cluster.get(certificateRef(name));
  const { revision } = status;
  const issuing = { type: "Issuing", status: "True", reason: "ManuallyTriggered", message: "by a test" };
  const conditions = [...status.conditions, { ...issuing, lastTransitionTime: new Date().toISOString() }];
  await cluster.patchStatus(certificateRef(name), { conditions });
  await cluster.waitFor(`cert-manager to renew ${name}`, async () => {
    const now = await cluster.get(certificateRef(name));
    return now["status"].revision > revision && conditionOf(now, "Issuing") !== "True";
  });
}

/** From the authority to Cluster API and the API server, and from there to the operator. */
async function isTrusted(namespace: string): Promise<void> {
  const served = await published("tls.crt");
  const authority = await published("ca.crt");
  await everyReplicaServes(served);
  assert.ok(served.verify(authority.publicKey));
  const { data } = await cluster.get(SERVING);
  assert.equal((await cluster.get(EXTENSION))["spec"].clientConfig.caBundle, data["ca.crt"]);
  await holdsUntilApproved(cluster, namespace);
  await cluster.waitFor("cert-manager to write the caBundle", async () => {
    const [webhook] = (await cluster.get(WEBHOOK))["webhooks"];
    return webhook.clientConfig.caBundle === data["ca.crt"];
  });
  await refusesFaulty(cluster, namespace);
}

test("the operator serves the certificate of cert-manager, and Cluster API's Pod and the API server trust it and ask", async () => {
  await isTrusted("team-issued");
});

test("a renewed authority and certificate are served without a restart or a failed call, and trusted as before", async (t) => {
  const [old, pods] = [await published("tls.crt"), await replicas(cluster)];
  const begin = performance.now();
  const calls = await loadUntil(cluster, async () => {
    await renew("hookpolicy-webhook-service-ca");
    await renew(SERVING.name);
    await everyReplicaServes(await published("tls.crt"));
  });
  t.diagnostic(`served after ${((performance.now() - begin) / 1000).toFixed(0)} s, ${calls.length} calls`);
  assert.notEqual((await published("tls.crt")).fingerprint256, old.fingerprint256);
  assert.deepEqual(failuresOf(calls), []); // they trust the authority that was there before
  assert.deepEqual(startsOf(await replicas(cluster)), startsOf(pods));
  await holdsUntilApproved(cluster, "team-renewed");
});

test("the chart asks cert-manager for the same, and helm uninstall takes that along", async () => {
  await removeRelease(cluster, MANIFEST);
  const into = ["--namespace", NAMESPACE];
  const issuer = ["--set", "certificates.issuer=cert-manager"];
  await helmIn(cluster, "install", "hookpolicy", CHART, ...into, "--create-namespace", ...issuer);
  await isInstalled(cluster);
  await isTrusted("team-chart");
  const issued = ["get", "issuers,certificates,certificaterequests", ...into, "--output=name"];
  assert.notEqual(await cluster.kubectl(...issued), "");
  await helmIn(cluster, "uninstall", "hookpolicy", ...into);
  assert.deepEqual(await leftovers(cluster), []);
  await cluster.waitFor("what cert-manager has made of the Certificates to be gone", async () => {
    return (await cluster.kubectl(...issued)) === "";
  });
});

/** Which processes they are. */
function startsOf(pods: readonly KubeObject[]): readonly string[] {
  const started = pods.map((pod): string => pod["status"].containerStatuses[0].containerID);
  return started.toSorted();
}
