/**
 * A task whose Job runs in a Pod, with a kubelet: it removes what a Cluster leaves at its cloud, through the API server of that
 * Cluster, which is a second real one here.
 */

import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import type { KubeObject } from "../controlplane/client.ts";
import { ADMIN_TOKEN, type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { clusterRef, createCluster, deleteCluster, waitUntilGone } from "../controlplane/lab.ts";
import { APPROVED, applyPolicy, approve, policyRow, policyRef } from "../controlplane/policies.ts";
import { ACCOUNT, createAccount, jobsIn, taskIs, tasksIn } from "../controlplane/tasks.ts";
import { nodeIp } from "./addresses.ts";
import { attachCluster } from "./cluster.ts";
import { installRelease } from "./operator-pods.ts";
import { PRODUCT_IMAGE } from "./product.ts";

const NAMESPACE = "job-before-delete";
const CLUSTER = "prod";
const NODE_JS = "/nodejs/bin/node";
/** Of the certificate of every API server of the tests. */
const SERVER_NAME = "kubernetes.default.svc";

const REMOVE = `
const { readFileSync } = require("node:fs");
const { request } = require("node:https");
const { clusters: [{ cluster }], users: [{ user }] } = JSON.parse(readFileSync(process.env.KUBECONFIG, "utf8"));
const ca = Buffer.from(cluster["certificate-authority-data"], "base64");
const ask = (method, path) => new Promise((resolve, reject) => {
  const options = { method, ca, servername: cluster["tls-server-name"], headers: { authorization: "Bearer " + user.token } };
  const sent = request(cluster.server + path, options, (answer) => {
    let text = "";
    answer.on("data", (part) => (text += part));
    answer.on("end", () => (answer.statusCode < 300 ? resolve(JSON.parse(text)) : reject(new Error(text))));
  });
  sent.on("error", reject).end();
});
const remove = async (plural, isOne) => {
  const { items } = await ask("GET", "/api/v1/" + plural);
  for (const { metadata } of items.filter(isOne))
    await ask("DELETE", "/api/v1/namespaces/" + metadata.namespace + "/" + plural + "/" + metadata.name);
};
remove("services", ({ spec }) => spec.type === "LoadBalancer")
  .then(() => remove("persistentvolumeclaims", () => true))
  .catch((error) => { console.error(error); process.exit(1); });`;

let cluster: ControlPlane;
let workload: ControlPlane;
before(async () => {
  cluster = await attachCluster();
  await installRelease(cluster);
  workload = await startControlPlane({
    controllers: false,
    apiServerArgs: [
      "--bind-address=0.0.0.0",
      // Without its controller a claim would keep the finalizer of this plugin.
      "--disable-admission-plugins=ServiceAccount,StorageObjectInUseProtection",
    ],
  });
});
after(async () => {
  await workload?.stop();
  await cluster?.kubectl("delete", "namespace", NAMESPACE, "--ignore-not-found", "--wait=false");
  await cluster?.stop();
});

test("a Job removes load balancers and volumes before the Cluster goes, and is tried again where it fails", async () => {
  await createAccount(cluster, NAMESPACE);
  await cluster.apply(kubeconfigSecret());
  await fillWorkload();
  const policy = policyRef(NAMESPACE, "clean");
  const until = [{ name: "approved", annotation: { key: APPROVED } }];
  const rules = [
    { name: "clean", hooks: ["BeforeClusterDelete"], until, tasks: [removal()], retryAfterSeconds: 5 },
  ];
  await applyPolicy(cluster, policy, { serviceAccountName: ACCOUNT, rules });
  await createCluster(cluster, { namespace: NAMESPACE, name: CLUSTER });
  await cluster.waitFor("Cluster API to create the Cluster's parts", async () => {
    return (await cluster.get(clusterRef(NAMESPACE, CLUSTER)))["spec"].controlPlaneRef !== undefined;
  });
  await deleteCluster(cluster, NAMESPACE, CLUSTER);
  await policyRow(cluster, policy, CLUSTER, "BeforeClusterDelete");
  assert.deepEqual(await tasksIn(cluster, NAMESPACE), []);

  await workload.apiServer.stop("SIGKILL");
  await approve(cluster, NAMESPACE, CLUSTER, APPROVED);
  await taskIs(cluster, NAMESPACE, "Running", ({ status }) => status?.attempts?.[0]?.outcome === "Failed");
  await workload.apiServer.start();
  assert.deepEqual(await left(), { balancers: 1, volumes: 1 });
  const { status } = await cluster.waitFor(
    "the task to succeed",
    async () => (await tasksIn(cluster, NAMESPACE)).find((task) => task.status?.phase === "Succeeded"),
    240_000, // the third attempt comes a minute after the second
  );
  const outcomes = status?.attempts?.map(({ outcome }) => outcome) ?? [];
  // The second attempt may come before its API server.
  assert.match(outcomes.join(" "), /^Failed (Failed )?Succeeded$/);
  await waitUntilGone(cluster, NAMESPACE, CLUSTER);
  assert.deepEqual(await left(), { balancers: 0, volumes: 0 });
  assert.equal((await jobsIn(cluster, NAMESPACE)).length, outcomes.length);
  const story = await cluster.kubectl("get", "hooktask", "-n", NAMESPACE);
  assert.match(
    story,
    /prod +BeforeClusterDelete +remove-load-balancers +Succeeded +Job\/remove-load-balancers-/,
  );
});

function removal(): object {
  const env = [{ name: "KUBECONFIG", value: "/etc/cluster/value" }];
  const volumeMounts = [{ name: "kubeconfig", mountPath: "/etc/cluster", readOnly: true }];
  const container = {
    name: "remove",
    image: PRODUCT_IMAGE,
    imagePullPolicy: "Never",
    command: [NODE_JS, "-e", REMOVE],
    env,
    volumeMounts,
  };
  const volumes = [{ name: "kubeconfig", secret: { secretName: "<< cluster.metadata.name >>-kubeconfig" } }];
  return {
    name: "remove-load-balancers",
    retries: 2,
    timeout: "2m",
    create: {
      apiVersion: "batch/v1",
      kind: "Job",
      spec: {
        backoffLimit: 0,
        template: { spec: { restartPolicy: "Never", containers: [container], volumes } },
      },
    },
  };
}

/** As Cluster API writes it, under the key that a Pod mounts. */
function kubeconfigSecret(): KubeObject {
  const ca = Buffer.from(workload.authority.certificate).toString("base64");
  const server = `https://${nodeIp(1)}:${workload.apiServer.port}`;
  const config = {
    apiVersion: "v1",
    kind: "Config",
    "current-context": "admin",
    clusters: [
      { name: "it", cluster: { server, "certificate-authority-data": ca, "tls-server-name": SERVER_NAME } },
    ],
    users: [{ name: "admin", user: { token: ADMIN_TOKEN } }],
    contexts: [{ name: "admin", context: { cluster: "it", user: "admin" } }],
  };
  const metadata = { namespace: NAMESPACE, name: `${CLUSTER}-kubeconfig` };
  return { apiVersion: "v1", kind: "Secret", metadata, stringData: { value: JSON.stringify(config) } };
}

/** A balancer, a Service of another type, and a volume. */
async function fillWorkload(): Promise<void> {
  const service = (name: string, type: string): KubeObject => ({
    apiVersion: "v1",
    kind: "Service",
    metadata: { namespace: "default", name },
    spec: { type, ports: [{ port: 80 }] },
  });
  const claim = {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { namespace: "default", name: "data" },
    spec: { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } },
  };
  await workload.apply([service("web", "LoadBalancer"), service("inside", "ClusterIP"), claim]);
}

async function left(): Promise<{ balancers: number; volumes: number }> {
  const services = await workload.list({ apiVersion: "v1", kind: "Service", namespace: "default" });
  const claims = await workload.list({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    namespace: "default",
  });
  const balancers = services.filter(({ spec }) => spec.type === "LoadBalancer").length;
  return { balancers, volumes: claims.length };
}
