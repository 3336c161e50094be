/** "Go" only for what is still wanted: between Cluster API's call and the operator's reads, users change their minds. */

import assert from "node:assert/strict";
import test, { after, afterEach, describe } from "node:test";
import {
  clusterRef,
  createCluster,
  deleteCluster,
  FIRST_VERSION,
  NEXT_VERSION,
  provision,
  upgrade,
  waitUntilGone,
} from "../controlplane/lab.ts";
import type { Ref } from "../controlplane/client.ts";
import { CLUSTER_API, LAB_CLASS, LAB_CONTROL_PLANE, LAB_NAMESPACE } from "../controlplane/lab-kinds.ts";
import { APPROVED, approve } from "../controlplane/policies.ts";
import { askedAgain, behindProxy, heldCluster, hooksCalled, isCreated, startFleet } from "./fleet.ts";

/** The first read of a confirmation, which begins after the call. The operator waits 3 s for all of them. */
const FIRST_READ = /^GET \/apis\/hookpolicy\.dev\/v1alpha1\/clusterhookpolicies\?(?!.*watch=)/;
const ATTEMPTS = 5;
const LAST_VERSION = "v1.36.0";
const OK_TO_DELETE = "runtime.cluster.x-k8s.io/ok-to-delete";
const PENDING_HOOKS = "runtime.cluster.x-k8s.io/pending-hooks";
const UNSAFE = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";

const fleet = await startFleet();
const proxy = await behindProxy(fleet);
after(async () => {
  await fleet.cp.stop();
  await proxy.stop();
});

describe("a release is for what the Cluster still wants", () => {
  afterEach(() => proxy.resume());

  const unconfirmed = async (...labels: readonly string[]): Promise<number> =>
    await fleet.operator.metric("hookpolicy_unconfirmed_releases_total", ...labels);
  const notWanted = async (): Promise<number> => await unconfirmed('reason="NotWanted"');

  /**
   * Approves, and runs `change` while a confirmation waits for its first read. Ends when the operator has said that the
   * operation is not wanted. Where the reads took too long for that, `undo` has to let Cluster API ask again.
   */
  async function meanwhile(
    namespace: string,
    change: () => Promise<unknown>,
    undo: () => Promise<unknown>,
  ): Promise<void> {
    const { cp } = fleet;
    for (let attempt = 1; attempt <= ATTEMPTS; attempt++) {
      const earlier = { all: await unconfirmed(), notWanted: await notWanted() };
      proxy.forget();
      const changed = Promise.withResolvers<void>();
      proxy.wait(changed.promise, FIRST_READ);
      await approve(cp, namespace, "c1");
      await begun(namespace);
      await change().finally(changed.resolve);
      await cp.waitFor("the release to be decided", async () => {
        return (await isReleased(namespace)) || (await unconfirmed()) > earlier.all;
      });
      assert.ok(!(await isReleased(namespace)), "the operation may not go ahead");
      if ((await notWanted()) > earlier.notWanted) return;
      proxy.resume();
      await cp.patch(clusterRef(namespace, "c1"), { metadata: { annotations: { [APPROVED]: null } } });
      await undo();
    }
    assert.fail(`the operator did not say NotWanted in ${ATTEMPTS} attempts`);
  }

  async function isReleased(namespace: string): Promise<boolean> {
    const { annotations = {} } = (await fleet.cp.get(clusterRef(namespace, "c1"))).metadata;
    const marks = annotations[PENDING_HOOKS] ?? "";
    return annotations[OK_TO_DELETE] !== undefined || marks.includes("AfterClusterUpgrade");
  }

  async function begun(namespace: string): Promise<void> {
    const { cp, operator } = fleet;
    const probe = (): boolean => proxy.count(FIRST_READ) > 0;
    await cp.waitFor("a confirmation to begin", probe).catch((error: unknown) => {
      const lines = operator.lines().filter(({ cluster }) => cluster === `${namespace}/c1`);
      throw new Error(`no confirmation began; the operator's log: ${JSON.stringify(lines)}`, {
        cause: error,
      });
    });
  }

  test("an upgrade that is taken back between the call and the reads does not begin", async () => {
    const { cp } = fleet;
    await heldCluster(fleet.cp, "taken-back", "BeforeClusterUpgrade");
    const ref = clusterRef("taken-back", "c1");
    await meanwhile(
      "taken-back",
      async () => {
        await cp.patch(ref, {
          metadata: { annotations: { [UNSAFE]: "" } },
          spec: { topology: { version: FIRST_VERSION } },
        });
        await cp.patch(ref, { metadata: { annotations: { [UNSAFE]: null } } });
      },
      async () => await upgrade(cp, "taken-back", "c1"),
    );
    const { metadata, spec } = await cp.get(ref);
    assert.equal(metadata.annotations?.[PENDING_HOOKS], undefined);
    const controlPlane = await cp.get(controlPlaneOf("taken-back", spec.controlPlaneRef.name));
    assert.equal(controlPlane["spec"]?.version, FIRST_VERSION);
    // It is wanted again: approved as it is, it begins.
    proxy.resume();
    await upgrade(cp, "taken-back", "c1");
    await cp.waitFor("the control plane to be upgraded", async () => {
      const { spec: now } = await cp.get(controlPlaneOf("taken-back", spec.controlPlaneRef.name));
      return now?.version === NEXT_VERSION;
    });
  });

  test("a Cluster that is paused between the call and the reads is not marked ok-to-delete", async () => {
    const { cp } = fleet;
    await heldCluster(fleet.cp, "paused");
    const ref = clusterRef("paused", "c1");
    const pause = async (paused: boolean): Promise<unknown> => await cp.patch(ref, { spec: { paused } });
    await meanwhile(
      "paused",
      async () => await pause(true),
      async () => await pause(false),
    );
    assert.equal((await cp.get(ref)).metadata.annotations?.[OK_TO_DELETE], undefined);
    // The approval is withdrawn before it is resumed.
    proxy.resume();
    await cp.patch(ref, { metadata: { annotations: { [APPROVED]: null } } });
    await pause(false);
    await askedAgain(fleet, "paused/c1", "BeforeClusterDelete");
    assert.ok(await cp.find(ref), "the Cluster is still there");
    await approve(cp, "paused", "c1");
    await waitUntilGone(cp, "paused", "c1");
  });

  test("nothing is wrongly not wanted: a life without holds, with an upgrade of two steps", async () => {
    const { cp, operator } = fleet;
    const versions = [FIRST_VERSION, NEXT_VERSION, LAST_VERSION];
    const labClass = {
      apiVersion: CLUSTER_API,
      kind: "ClusterClass",
      namespace: LAB_NAMESPACE,
      name: LAB_CLASS,
    };
    await cp.patch(labClass, { spec: { kubernetesVersions: versions } });
    await createCluster(cp, { namespace: "free", name: "c1", workers: true });
    await provision(cp, "free", "c1");
    await isCreated(cp, "free", "c1");
    await cp.waitFor("Cluster API to see the versions", async () => {
      const { status, metadata } = await cp.get(labClass);
      return status?.observedGeneration === metadata.generation;
    });
    await upgrade(cp, "free", "c1", LAST_VERSION);
    const { spec } = await cp.get(clusterRef("free", "c1"));
    const controlPlane = controlPlaneOf("free", spec.controlPlaneRef.name);
    for (const version of [NEXT_VERSION, LAST_VERSION]) {
      await cp.waitFor(
        `the control plane to be told ${version}`,
        async () => (await cp.get(controlPlane))["spec"]?.version === version,
      );
      await cp.patchStatus(controlPlane, { version });
    }
    await cp.waitFor("the upgrade to end", async () => {
      const { metadata } = await cp.get(clusterRef("free", "c1"));
      return (
        metadata.annotations?.[PENDING_HOOKS] === undefined &&
        hooksCalled(operator, "free/c1").includes("AfterClusterUpgrade")
      );
    });
    await deleteCluster(cp, "free", "c1");
    await waitUntilGone(cp, "free", "c1");
    // A busy Cluster API may call once more for a step that is released already: it reads the control plane from its cache.
    const lines = operator.lines().filter(({ cluster }) => cluster === "free/c1");
    const wrong = lines.filter(
      ({ reason, hook }, place) =>
        reason === "NotWanted" &&
        !lines
          .slice(0, place)
          .some(({ msg, verdict }) => verdict === "Allowed" && msg.startsWith(`${String(hook)} is`)),
    );
    assert.deepEqual(wrong, []);
  });
});

function controlPlaneOf(namespace: string, name: string): Ref {
  return { apiVersion: LAB_CONTROL_PLANE, kind: "LabControlPlane", namespace, name };
}
