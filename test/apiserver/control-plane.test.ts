/** The harness itself, on the real thing: what other tests take for granted is proven here. */
import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { get as httpsGet } from "node:https";
import { after, before, describe, test } from "node:test";
import { ApiError, Client } from "../controlplane/client.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { waitFor } from "../controlplane/waits.ts";
import { type Proxy, startProxy } from "../controlplane/proxy.ts";

const configMap = (namespace: string, name: string) =>
  ({ apiVersion: "v1", kind: "ConfigMap", namespace, name }) as const;

const namespace = (name: string) => ({ apiVersion: "v1", kind: "Namespace", metadata: { name } }) as const;

const isForbidden = (error: unknown): boolean => error instanceof ApiError && error.code === 403;

describe("a control plane", () => {
  let cp: ControlPlane;
  before(async () => {
    cp = await startControlPlane();
  });
  after(async () => await cp.stop());

  test("serves the version it was built from, to kubectl as well", async () => {
    const { gitVersion } = await cp.request<{ gitVersion: string }>("GET", "/version");
    assert.match(gitVersion, /^v1\.\d+\.\d+$/);
    assert.match(await cp.kubectl("get", "namespaces"), /kube-system/);
    await assert.rejects(cp.kubectl("get", "unicorns"), /doesn't have a resource type "unicorns"/);
  });

  test("applies YAML with several documents, patches, and deletes", async () => {
    await cp.apply(`
apiVersion: v1
kind: Namespace
metadata: {name: documents}
---
apiVersion: v1
kind: ConfigMap
metadata: {name: one, namespace: documents}
data: {key: a}
---
`);
    const one = configMap("documents", "one");
    await cp.patch(one, { data: { key: "b" } });
    assert.deepEqual((await cp.get(one))["data"], { key: "b" });
    await cp.delete(one);
    assert.equal(await cp.find(one), undefined);
  });

  test("tells every state of a list that is followed, in order", async () => {
    await cp.apply(namespace("followed"));
    const stop = new AbortController();
    const seen: string[] = [];
    const list = { apiVersion: "v1", kind: "ConfigMap", namespace: "followed", labelSelector: "seen" };
    const follow = async (): Promise<void> => {
      for await (const all of cp.follow(list, stop.signal))
        seen.push(all.map((each) => `${each.metadata.name}: ${each["data"].key}`).join());
    };
    const following = follow();
    await cp.waitFor("the first list", () => seen.length > 0);
    const one = configMap("followed", "one");
    const metadata = { namespace: "followed", name: "one", labels: { seen: "" } };
    await cp.create({ ...one, metadata, data: { key: "a" } });
    await cp.create({ ...one, metadata: { ...metadata, name: "two", labels: {} }, data: { key: "never" } });
    for (const key of ["b", "c"]) await cp.patch(one, { data: { key } });
    await cp.delete(one);
    await cp.waitFor("the last change", () => seen.length > 1 && seen.at(-1) === "");
    stop.abort();
    await following;
    assert.deepEqual(seen, ["", "one: a", "one: b", "one: c", ""]);
  });

  test("serves and lists a kind as soon as its definition is applied", async () => {
    const schema = { openAPIV3Schema: { type: "object", "x-kubernetes-preserve-unknown-fields": true } };
    await cp.apply({
      apiVersion: "apiextensions.k8s.io/v1",
      kind: "CustomResourceDefinition",
      metadata: { name: "widgets.test.example.com" },
      spec: {
        group: "test.example.com",
        scope: "Cluster",
        names: { kind: "Widget", plural: "widgets" },
        versions: [{ name: "v1", served: true, storage: true, schema }],
      },
    });
    await cp.apply({ apiVersion: "test.example.com/v1", kind: "Widget", metadata: { name: "w" } });
    assert.equal((await cp.list({ apiVersion: "test.example.com/v1", kind: "Widget" })).length, 1);
  });

  test("refuses a ServiceAccount what no role grants, and no more than that", async () => {
    await cp.apply([
      namespace("rbac"),
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace: "rbac", name: "op" } },
    ]);
    const op = cp.as(await cp.tokenFor("rbac", "op"));
    await assert.rejects(op.list({ apiVersion: "v1", kind: "ConfigMap", namespace: "rbac" }), isForbidden);
    await cp.apply([
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "Role",
        metadata: { namespace: "rbac", name: "reader" },
        rules: [{ apiGroups: [""], resources: ["configmaps"], verbs: ["list"] }],
      },
      {
        apiVersion: "rbac.authorization.k8s.io/v1",
        kind: "RoleBinding",
        metadata: { namespace: "rbac", name: "reader" },
        roleRef: { apiGroup: "rbac.authorization.k8s.io", kind: "Role", name: "reader" },
        subjects: [{ kind: "ServiceAccount", namespace: "rbac", name: "op" }],
      },
    ]);
    await cp.waitFor(
      "the role to count",
      async () => await op.list({ apiVersion: "v1", kind: "ConfigMap", namespace: "rbac" }),
    );
    await assert.rejects(op.get(configMap("rbac", "x")), isForbidden);
    op.close();

    const kubeconfig = await cp.kubeconfigFor("rbac", "op");
    assert.match(await cp.kubectl("--kubeconfig", kubeconfig, "auth", "can-i", "list", "configmaps"), /yes/);
  });

  for (const signal of ["SIGTERM", "SIGKILL"] as const) {
    test(`keeps its data and its address over ${signal} and a start`, async () => {
      const name = `kept-${signal.toLowerCase()}`;
      await cp.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "default", name } });
      await cp.apiServer.stop(signal);
      assert.equal(cp.apiServer.running(), false);
      await assert.rejects(cp.get(configMap("default", name)), /ECONNREFUSED|ECONNRESET|socket hang up/);
      await cp.apiServer.start();
      assert.equal((await cp.get(configMap("default", name))).metadata.name, name);
    });
  }

  test("says what it waited for, and why in vain", async () => {
    const missing = () => cp.get(configMap("default", "missing"));
    await assert.rejects(
      cp.waitFor("the impossible", missing, 300),
      /in vain for the impossible\. Last error: .*not found/,
    );
  });

  test("runs beside another one; stop leaves no process and no folder", async () => {
    const other = await startControlPlane();
    const pids = ["etcd", "kube-apiserver", "kube-controller-manager"].flatMap((name) =>
      other.processes.pids(name),
    );
    assert.equal(pids.length, 3);
    await other.apply(namespace("only-there"));
    assert.equal(await cp.find({ apiVersion: "v1", kind: "Namespace", name: "only-there" }), undefined);
    await other.stop();
    for (const pid of pids) assert.throws(() => process.kill(pid, 0), { code: "ESRCH" });
    assert.equal(existsSync(other.folder), false);
  });
});

test("a control plane does not outlive its starter, not even when that is killed", async () => {
  const source = `
    import { startControlPlane } from ${JSON.stringify(import.meta.resolve("../controlplane/control-plane.ts"))};
    const { folder, processes } = await startControlPlane();
    const pids = ["etcd", "kube-apiserver", "kube-controller-manager"].flatMap(processes.pids);
    process.stdout.write(JSON.stringify({ folder, pids }));
    setInterval(() => undefined, 1000);`;
  const starter = spawn(process.execPath, ["--input-type=module", "--eval", source], {
    stdio: ["ignore", "pipe", "inherit"],
  });
  const [output] = await once(starter.stdout, "data");
  const { folder, pids }: { folder: string; pids: number[] } = JSON.parse(String(output));
  assert.equal(pids.length, 3);
  assert.ok(existsSync(folder));
  starter.kill("SIGKILL");
  await waitFor("its processes to be gone", () => !pids.some(isAlive));
  await waitFor("its folder to be gone", () => !existsSync(folder));
});

function isAlive(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return true;
  } catch {
    return false;
  }
}

describe("a proxy in front of it", () => {
  let cp: ControlPlane;
  let proxy: Proxy;
  let client: Client;
  before(async () => {
    cp = await startControlPlane();
    proxy = await startProxy({ upstream: cp.apiServer.url, authority: cp.authority });
    await cp.apply([
      namespace("proxied"),
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace: "proxied", name: "op" } },
    ]);
    client = new Client({ url: proxy.url, ca: cp.authority.certificate, token: "admin" });
  });
  after(async () => {
    client.close();
    await proxy.stop();
    await cp.stop();
  });

  const create = async (name: string) =>
    await cp.create({ apiVersion: "v1", kind: "ConfigMap", metadata: { namespace: "proxied", name } });

  test("passes requests and their tokens through, and counts them", async () => {
    proxy.forget();
    await client.list({ apiVersion: "v1", kind: "ConfigMap", namespace: "proxied" });
    assert.equal(proxy.counts()["GET /api/v1/namespaces/proxied/configmaps"], 1);
    const op = client.as(await cp.tokenFor("proxied", "op"));
    await assert.rejects(op.get(configMap("proxied", "x")), isForbidden);
    op.close();
    const kubeconfig = await cp.kubeconfigFor("proxied", "op", { server: proxy.url });
    assert.match(await cp.kubectl("--kubeconfig", kubeconfig, "version"), /Server Version/);
    assert.ok(proxy.count((seen) => seen.userAgent.startsWith("kubectl/")) > 0);
  });

  test("streams a watch, holds it silently, and delivers the rest when it resumes", async () => {
    const watch = await openWatch(proxy.url, cp, "/api/v1/namespaces/proxied/configmaps?watch=true");
    await create("before");
    await cp.waitFor("the event before the stall", () => watch.text().includes('"before"'));
    proxy.stallWatches(/configmaps/);
    await create("during");
    await new Promise((resolve) => setTimeout(resolve, 1_000));
    assert.equal(watch.text().includes('"during"'), false);
    assert.equal(watch.open(), true);

    const late = await openWatch(proxy.url, cp, "/api/v1/namespaces/proxied/configmaps?watch=true");
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(late.text(), "");
    assert.equal(proxy.openWatches(), 2);

    proxy.resume();
    await cp.waitFor("the held event", () => watch.text().includes('"during"'));
    await cp.waitFor("the late watch's events", () => late.text().includes('"during"'));
    proxy.dropConnections();
    await cp.waitFor("the watches to be cut", () => !watch.open() && !late.open());
    await cp.waitFor("the proxy to know", () => proxy.openWatches() === 0);
  });

  test("keeps a stalled watch open even when the API server dies behind it", async () => {
    const watch = await openWatch(proxy.url, cp, "/api/v1/namespaces/proxied/configmaps?watch=true");
    proxy.stallWatches();
    await cp.apiServer.stop("SIGKILL");
    await new Promise((resolve) => setTimeout(resolve, 500));
    assert.equal(watch.open(), true);
    await cp.apiServer.start();
    assert.equal(watch.open(), true);
    proxy.resume();
    await cp.waitFor("the dead watch to be cut", () => !watch.open());
  });

  test("fails and delays what it is told to, and nothing else", async () => {
    const ask = () => client.list({ apiVersion: "v1", kind: "ConfigMap", namespace: "proxied" });
    proxy.failNext(409, /^GET .*configmaps/);
    await client.get({ apiVersion: "v1", kind: "Namespace", name: "proxied" });
    await assert.rejects(ask(), { reason: "Conflict", code: 409 });
    await ask();
    proxy.failAll(503, /configmaps/);
    await assert.rejects(ask(), { code: 503 });
    await assert.rejects(ask(), { code: 503 });
    proxy.resume();
    proxy.delay(2000, /configmaps/);
    const answered: string[] = [];
    await Promise.all([
      ask().then(() => answered.push("delayed")),
      client.get({ apiVersion: "v1", kind: "Namespace", name: "proxied" }).then(() => answered.push("other")),
    ]);
    assert.deepEqual(answered, ["other", "delayed"]);
    proxy.resume();
  });
});

interface OpenWatch {
  readonly text: () => string;
  readonly open: () => boolean;
}

async function openWatch(url: string, cp: ControlPlane, path: string): Promise<OpenWatch> {
  const headers = { authorization: "Bearer admin" };
  let seen = "";
  let open = true;
  await new Promise<void>((resolve, reject) => {
    const request = httpsGet(
      new URL(path, url),
      { headers, ca: cp.authority.certificate, agent: false },
      (response) => {
        response.setEncoding("utf8").on("data", (chunk: string) => (seen += chunk));
        response.on("close", () => (open = false));
        response.on("error", () => undefined);
        resolve();
      },
    );
    request.once("error", reject);
  });
  return { text: () => seen, open: () => open };
}
