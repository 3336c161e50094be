/** The real Cluster API calls a tiny extension through a whole Cluster life: the ground the e2e tests stand on. */
import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { HOOK_NAMES, type HookName } from "../../src/api/runtime-hooks.ts";
import { installClusterApi } from "../controlplane/cluster-api.ts";
import { startConnectProxy } from "../controlplane/connect-proxy.ts";
import { startControlPlane } from "../controlplane/control-plane.ts";
import { extensionRef, registerExtension } from "../controlplane/extension.ts";
import * as lab from "../controlplane/lab.ts";
import { LAB_CLASS } from "../controlplane/lab-kinds.ts";
import { startTinyExtension } from "../controlplane/tiny-extension.ts";

const OLDER = "cluster.x-k8s.io/v1beta1";
const SERVICE = { namespace: "extensions", name: "tiny" };
const SERVICE_AUTHORITY = "tiny.extensions.svc:443";

const cp = await startControlPlane({ seed: "clusterApi" });
const extension = await startTinyExtension(cp.authority);
const services = await startConnectProxy();
after(async () => {
  extension.stop();
  await services.stop();
  await cp.stop();
});
const capi = await installClusterApi(cp, { env: { HTTPS_PROXY: services.url } });
await lab.installLab(cp);

describe("the lab", () => {
  const called = async (...hooks: readonly HookName[]): Promise<void> => {
    const all = () => hooks.every((hook) => extension.hooks().includes(hook));
    await cp.waitFor(`${hooks.join(", ")} to be called`, all);
  };

  test("discovers the extension's handlers", async () => {
    const handlers = await registerExtension(cp, {
      name: "tiny",
      url: `https://127.0.0.1:${extension.port}/`,
    });
    assert.deepEqual(
      handlers.map(({ requestHook }) => requestHook.hook).toSorted(),
      [...HOOK_NAMES].toSorted(),
    );
  });

  test("calls every hook of a Cluster's life in its order", async () => {
    const labels = { tier: "production" };
    await lab.createCluster(cp, { namespace: "team-a", name: "one", labels, workers: true });
    await lab.provision(cp, "team-a", "one");
    await called("AfterControlPlaneInitialized");
    await lab.upgrade(cp, "team-a", "one");
    await lab.finishControlPlaneUpgrade(cp, "team-a", "one");
    await called("AfterClusterUpgrade");

    extension.hold("BeforeClusterDelete", "not before tea");
    await lab.deleteCluster(cp, "team-a", "one");
    const told = async () => (await lab.topologyMessage(cp, "team-a", "one")).includes("not before tea");
    await cp.waitFor("the Cluster to say what holds it", told);
    assert.match(
      await lab.topologyMessage(cp, "team-a", "one"),
      /blocking.*BeforeClusterDelete: not before tea/,
    );
    extension.allow("BeforeClusterDelete");
    await lab.waitUntilGone(cp, "team-a", "one");

    // Cluster API repeats what it was answered, if it could not note it.
    assert.deepEqual([...new Set(extension.hooks())], HOOK_NAMES);
  });

  test("converts a Cluster for those who ask for the older version", async () => {
    await lab.createCluster(cp, { namespace: "older", name: "one" });
    const { spec } = await cp.get({ ...lab.clusterRef("older", "one"), apiVersion: OLDER });
    assert.equal(spec.topology.class, LAB_CLASS);
  });

  test("holds a Cluster's creation and upgrade while the extension asks for it", async () => {
    extension.forget();
    extension.hold("BeforeClusterCreate", "no quota");
    await lab.createCluster(cp, { namespace: "team-a", name: "two" });
    const message = async () => (await lab.topologyMessage(cp, "team-a", "two")).includes("no quota");
    await cp.waitFor("the Cluster to say that it waits", message);
    assert.deepEqual(
      await cp.list({
        apiVersion: "controlplane.cluster.x-k8s.io/v1beta2",
        kind: "LabControlPlane",
        namespace: "team-a",
      }),
      [],
    );
    extension.allow("BeforeClusterCreate");
    await lab.provision(cp, "team-a", "two");
    await called("AfterControlPlaneInitialized");

    extension.hold("BeforeClusterUpgrade", "frozen");
    await lab.upgrade(cp, "team-a", "two");
    await cp.waitFor("the upgrade to be held", async () =>
      (await lab.topologyMessage(cp, "team-a", "two")).includes("frozen"),
    );
    await assert.rejects(lab.finishControlPlaneUpgrade(cp, "team-a", "two", 1_500), /to be told v1\.35\.0/);
    extension.allow("BeforeClusterUpgrade");
    await lab.finishControlPlaneUpgrade(cp, "team-a", "two");
    await called("AfterClusterUpgrade");
    await lab.deleteCluster(cp, "team-a", "two");
    await lab.waitUntilGone(cp, "team-a", "two");
  });

  test("reaches an extension behind a Service, and Cluster API can be restarted", async () => {
    await cp.delete(extensionRef("tiny"));
    extension.forget();
    services.route(SERVICE_AUTHORITY, extension.port);
    await registerExtension(cp, { name: "tiny-service", service: SERVICE });
    await capi.restart();
    await lab.createCluster(cp, { namespace: "team-b", name: "three" });
    await called("BeforeClusterCreate");
    assert.ok(services.count(SERVICE_AUTHORITY) >= 2, "one connection before the restart and one after it");
    await lab.deleteCluster(cp, "team-b", "three");
    await lab.waitUntilGone(cp, "team-b", "three");
  });
});
