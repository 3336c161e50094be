import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { createServer } from "node:http";
import { json } from "node:stream/consumers";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { portOf } from "../../controlplane/ports.ts";
import { setEnvironment } from "../kube/fixtures.ts";
import { plantSeed, saveSeed, type SeedName, useSeed } from "../../controlplane/seed.ts";

const DEFINITIONS = "/registry/apiextensions.k8s.io/customresourcedefinitions/";
const APISERVICES = "/registry/apiregistration.k8s.io/apiservices/";
const TARGET = { webhookPort: 9443, caBundle: "bmV3" };

/** As the API server stores it: in v1beta1. */
function definition(name: string, group: string): string {
  const webhookClientConfig = { url: "https://127.0.0.1:1/convert", caBundle: "b2xk" };
  const conversion = { strategy: "Webhook", webhookClientConfig, conversionReviewVersions: ["v1"] };
  return JSON.stringify({
    apiVersion: "apiextensions.k8s.io/v1beta1",
    metadata: { name },
    spec: { group, conversion },
  });
}

const INSTALLED: Readonly<Record<string, string>> = {
  "/registry/clusterroles/admin": "k8s\0 not JSON",
  "/registry/masterleases/127.0.0.1": "ends with its server",
  "/registry/configmaps/kube-system/extension-apiserver-authentication": "of one server",
  [`${DEFINITIONS}hookpolicies.hookpolicy.dev`]: JSON.stringify({
    metadata: { name: "hookpolicies.hookpolicy.dev" },
    spec: { group: "hookpolicy.dev", conversion: { strategy: "None" } },
  }),
  [`${DEFINITIONS}clusters.cluster.x-k8s.io`]: definition("clusters.cluster.x-k8s.io", "cluster.x-k8s.io"),
  [`${DEFINITIONS}machines.cluster.x-k8s.io`]: definition("machines.cluster.x-k8s.io", "cluster.x-k8s.io"),
  [`${DEFINITIONS}labs.infrastructure.cluster.x-k8s.io`]: JSON.stringify({
    metadata: { name: "labs.infrastructure.cluster.x-k8s.io" },
    spec: { group: "infrastructure.cluster.x-k8s.io", conversion: { strategy: "None" } },
  }),
  [`${APISERVICES}v1alpha1.hookpolicy.dev`]: "x",
  [`${APISERVICES}v1beta2.cluster.x-k8s.io`]: "x",
};

const encoded = (text: string): string => Buffer.from(text).toString("base64");
const decoded = (text: string): string => Buffer.from(text, "base64").toString();

interface FakeEtcd {
  readonly url: string;
  readonly data: Map<string, string>;
  /** How many keys each request had. */
  readonly sizes: number[];
}

async function startEtcd(t: TestContext, found: Readonly<Record<string, string>> = {}): Promise<FakeEtcd> {
  const data = new Map(Object.entries(found));
  const sizes: number[] = [];
  const server = createServer((request, response) => {
    void json(request).then((body) => {
      const { success = [] } = body as { success?: { requestPut: { key: string; value: string } }[] };
      for (const { requestPut } of success) data.set(decoded(requestPut.key), decoded(requestPut.value));
      if (success.length > 0) sizes.push(success.length);
      const kvs = [...data].map(([key, value]) => ({
        key: encoded(key),
        value: encoded(value),
        version: "1",
      }));
      response.end(JSON.stringify({ kvs }));
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  t.after(() => server.close());
  return { url: `http://127.0.0.1:${portOf(server)}`, data, sizes };
}

/** From an etcd where that is installed to a new one. */
async function planted(t: TestContext, seed: SeedName, installed = INSTALLED): Promise<FakeEtcd> {
  setEnvironment(t, { HOOKPOLICY_TEST_SEED: undefined });
  const folder = await mkdtemp(join(tmpdir(), "hookpolicy-seed-"));
  t.after(async () => await rm(folder, { recursive: true }));
  await saveSeed((await startEtcd(t, installed)).url, join(folder, "seed"));
  useSeed(join(folder, "seed"));
  const etcd = await startEtcd(t);
  assert.deepEqual(await plantSeed(etcd.url, seed, TARGET), { name: seed, webhookPort: TARGET.webhookPort });
  return etcd;
}

const HOOKPOLICY = [
  "/registry/clusterroles/admin",
  `${DEFINITIONS}hookpolicies.hookpolicy.dev`,
  `${APISERVICES}v1alpha1.hookpolicy.dev`,
];

test("hookpolicy: nothing of Cluster API, and nothing of the server that had it", async (t) => {
  const { data } = await planted(t, "hookpolicy");
  assert.deepEqual([...data.keys()], HOOKPOLICY);
  for (const key of HOOKPOLICY) assert.deepEqual(data.get(key), INSTALLED[key]);
});

test("cluster: that, and the definition of Cluster, behind which nothing converts", async (t) => {
  const { data } = await planted(t, "cluster");
  const key = `${DEFINITIONS}clusters.cluster.x-k8s.io`;
  assert.deepEqual([...data.keys()].toSorted(), [...HOOKPOLICY, key].toSorted());
  assert.deepEqual(JSON.parse(data.get(key) ?? "").spec.conversion, { strategy: "None" });
});

test("clusterApi: all definitions, which lead to the new manager", async (t) => {
  const { data } = await planted(t, "clusterApi");
  assert.equal(data.size, Object.keys(INSTALLED).length - 2);
  const { conversion } = JSON.parse(data.get(`${DEFINITIONS}machines.cluster.x-k8s.io`) ?? "").spec;
  assert.deepEqual(conversion, {
    strategy: "Webhook",
    webhookClientConfig: { url: "https://127.0.0.1:9443/convert", caBundle: "bmV3" },
    conversionReviewVersions: ["v1"],
  });
});

test("a definition that is stored in another form is an error", async (t) => {
  const name = "machines.cluster.x-k8s.io";
  const conversion = {
    strategy: "Webhook",
    webhook: { clientConfig: { url: "https://127.0.0.1:1/convert" } },
  };
  const newer = {
    apiVersion: "apiextensions.k8s.io/v1",
    metadata: { name },
    spec: { group: "cluster.x-k8s.io", conversion },
  };
  await assert.rejects(
    planted(t, "clusterApi", { [`${DEFINITIONS}${name}`]: JSON.stringify(newer) }),
    /^Error: machines\.cluster\.x-k8s\.io: stored in apiextensions\.k8s\.io\/v1, without the URL of its webhook$/,
  );
});

test("is planted in parts that etcd takes", async (t) => {
  const many = Array.from({ length: 250 }, (_, index) => [`/registry/roles/${index}`, "x"]);
  const { data, sizes } = await planted(t, "hookpolicy", Object.fromEntries(many));
  assert.equal(data.size, 250);
  assert.deepEqual(sizes, [100, 100, 50]);
});

test("without one in this run, nothing is planted", async (t) => {
  const etcd = await startEtcd(t);
  setEnvironment(t, { HOOKPOLICY_TEST_SEED: undefined });
  assert.equal(await plantSeed(etcd.url, "cluster", TARGET), undefined);
  assert.equal(etcd.data.size, 0);
});
