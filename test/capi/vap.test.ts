/** Who may set Cluster API's marks and pause, with manifests/admission/ on a real API server and Cluster API under it. */

import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { KubeObject } from "../controlplane/client.ts";
import {
  clusterRef,
  createCluster,
  deleteCluster,
  finishControlPlaneUpgrade,
  NEXT_VERSION,
  provision,
  topologyMessage,
  upgrade,
  waitUntilGone,
} from "../controlplane/lab.ts";
import { applyPolicy, APPROVED, approvalRule, approve, policyRef } from "../controlplane/policies.ts";
import {
  DELETE_APPROVED,
  FINALIZER,
  MARKS,
  MOVER,
  PENDING_HOOKS,
  PRODUCTION,
  annotations,
  cp,
  markOf,
  person,
  refused,
  restorer,
  running,
  startProtected,
  stopProtected,
} from "./protected-lab.ts";

before(startProtected);
after(stopProtected);

describe("Cluster API's marks", { concurrency: true }, () => {
  test("cannot be set by others when a Cluster is created, and by the listed they can", async () => {
    for (const [index, mark] of MARKS.entries()) {
      const cluster = await unsaved(`created-${index}`, { [mark]: "AfterClusterUpgrade" });
      await refused(
        person.create(cluster),
        new RegExp(`only Cluster API may add, change or remove ${mark} `),
      );
      await restorer.create(cluster);
      assert.equal(markOf(await cp.get(clusterRef(`created-${index}`, "c1")), mark), "AfterClusterUpgrade");
    }
  });

  test("cannot be added, changed or removed by others, in any API version, and by the listed they can", async () => {
    const ref = await running("marked");
    const only = /only Cluster API may add, change or remove/;
    for (const mark of MARKS) {
      for (const version of ["v1beta1", "v1beta2"]) {
        const own = { ...ref, apiVersion: `cluster.x-k8s.io/${version}` };
        await refused(person.patch(own, annotations({ [mark]: "BeforeWorkersUpgrade" })), only);
      }
      // Paused, so that Cluster API does not clean up what it never asked for.
      await person.patch(ref, { spec: { paused: true } });
      await restorer.patch(ref, annotations({ [mark]: "BeforeWorkersUpgrade" }));
      await refused(person.patch(ref, annotations({ [mark]: "AfterWorkersUpgrade" })), only);
      await refused(person.patch(ref, annotations({ [mark]: null })), only);
      await person.patch(ref, annotations({ "hooks.example.com/other": mark })); // the mark is as it was
      await cp.kubectl("annotate", "clusters.cluster.x-k8s.io", "-n", "marked", "c1", `${mark}-`, ...MOVER);
      assert.equal(markOf(await cp.get(ref), mark), undefined);
      await person.patch(ref, { spec: { paused: false } });
    }
  });

  const UNSAFE = "unsafe.topology.cluster.x-k8s.io/disable-update-version-check";
  const otherVersion = { spec: { topology: { version: "v1.36.0" } } };

  test("keep the version of an upgrade that runs, also paused, and the annotation with which it could change", async () => {
    const ref = await running("upgrading");
    const set = /disable-update-version-check cannot be set/;
    await refused(person.create(await unsaved("upgrading-new", { [UNSAFE]: "" })), set);
    for (const apiVersion of ["cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2"])
      await refused(person.patch({ ...ref, apiVersion }, annotations({ [UNSAFE]: "" })), set);
    // As it was before the policy was installed.
    await restorer.patch(ref, annotations({ [UNSAFE]: "" }));
    await refused(person.patch(ref, annotations({ [UNSAFE]: "true" })), set);
    await upgrade(cp, "upgrading", "c1");
    await cp.waitFor("Cluster API to begin the upgrade", async () =>
      markOf(await cp.get(ref), PENDING_HOOKS)?.includes("AfterClusterUpgrade"),
    );
    const changes = [otherVersion, { spec: { ...otherVersion.spec, paused: true } }];
    for (const apiVersion of ["cluster.x-k8s.io/v1beta1", "cluster.x-k8s.io/v1beta2"])
      for (const change of changes)
        await refused(
          person.patch({ ...ref, apiVersion }, change),
          /cannot be changed while its upgrade runs/,
        );
    await person.patch(ref, { metadata: { labels: { "still-free": "to-edit" } } });
    await restorer.patch(ref, otherVersion);
    await person.patch(ref, annotations({ [UNSAFE]: null })); // back to what Cluster API checks
  });

  test("leave a Cluster's finalizer to Cluster API, and other finalizers to their owners", async () => {
    const ref = await running("finalized");
    const other = "hooks.example.com/other";
    await person.patch(ref, { metadata: { finalizers: [FINALIZER, other] } });
    await refused(
      person.patch(ref, { metadata: { finalizers: [other] } }),
      /only Cluster API may remove the finalizer/,
    );
    await refused(
      person.patch(ref, { metadata: { finalizers: null } }),
      /only Cluster API may remove the finalizer/,
    );
    await person.patch(ref, { metadata: { finalizers: [FINALIZER] } });
    await restorer.patch(ref, { metadata: { finalizers: null } });
  });
});

const PAUSES = [{ spec: { paused: true } }, annotations({ "cluster.x-k8s.io/paused": "" })];
const RESUMES = [{ spec: { paused: false } }, annotations({ "cluster.x-k8s.io/paused": null })];

describe("pausing", { concurrency: true }, () => {
  test("is free while no hook holds the Cluster", async () => {
    const ref = await running("free");
    for (const [index, pause] of PAUSES.entries()) {
      await person.patch(ref, pause);
      await person.patch(ref, RESUMES[index]);
    }
  });

  test("is refused while a hook holds the Cluster's creation, upgrade or deletion", async () => {
    const hooks = ["BeforeClusterCreate", "BeforeClusterUpgrade", "BeforeClusterDelete"] as const;
    const rules = hooks.map((hook) => ({
      ...approvalRule(hook, `${APPROVED}-${hook}`),
      name: hook.toLowerCase(),
    }));
    await applyPolicy(cp, policyRef("held", "approvals"), { rules });
    await createCluster(cp, { namespace: "held", name: "c1" });
    const ref = clusterRef("held", "c1");
    for (const hook of hooks) {
      if (hook === "BeforeClusterUpgrade") await upgrade(cp, "held", "c1");
      if (hook === "BeforeClusterDelete") await deleteCluster(cp, "held", "c1");
      await cp.waitFor(`${hook} to hold it`, async () =>
        (await topologyMessage(cp, "held", "c1")).includes(hook),
      );
      for (const pause of PAUSES) {
        await refused(person.patch(ref, pause), /a Cluster that a hook holds, or that is being deleted/);
        const old = { ...ref, apiVersion: "cluster.x-k8s.io/v1beta1" };
        await refused(person.patch(old, pause), /a Cluster that a hook holds, or that is being deleted/);
      }
      await approve(cp, "held", "c1", `${APPROVED}-${hook}`);
      if (hook === "BeforeClusterCreate") await provision(cp, "held", "c1");
      if (hook === "BeforeClusterUpgrade") await finishControlPlaneUpgrade(cp, "held", "c1");
    }
    await waitUntilGone(cp, "held", "c1");
  });

  test("is refused while a Cluster is deleted that no hook holds", async () => {
    const ref = await running("leaving");
    const other = "hooks.example.com/other";
    await person.patch(ref, { metadata: { finalizers: [FINALIZER, other] } });
    await person.delete(ref);
    await cp.waitFor("Cluster API to have done its part", async () => {
      return (await cp.get(ref)).metadata.finalizers?.includes(FINALIZER) === false;
    });
    for (const pause of PAUSES) await refused(person.patch(ref, pause), /cannot be paused/);
    await person.patch(ref, { metadata: { finalizers: null } });
    await waitUntilGone(cp, "leaving", "c1");
  });

  test("and resuming a Cluster that is being deleted are for the listed and for everybody", async () => {
    await applyPolicy(cp, policyRef("resumed", "protect"), { rules: [approvalRule("BeforeClusterDelete")] });
    const ref = await running("resumed");
    await person.delete(ref);
    for (const [index, pause] of PAUSES.entries()) {
      await refused(person.patch(ref, pause), /cannot be paused/);
      await restorer.patch(ref, pause);
      await person.patch(ref, { metadata: { labels: { "still-free": "to-edit" } } });
      await person.patch(ref, RESUMES[index]);
    }
    await approve(cp, "resumed", "c1");
    await waitUntilGone(cp, "resumed", "c1");
  });
});

describe("with all of it in force", { concurrency: true }, () => {
  test("Cluster API creates, upgrades and deletes a Cluster", async () => {
    const ref = await running("lived", PRODUCTION);
    await upgrade(cp, "lived", "c1");
    await finishControlPlaneUpgrade(cp, "lived", "c1");
    await cp.waitFor("the upgrade to end", async () => {
      const cluster = await cp.get(ref);
      const done =
        (await topologyMessage(cp, "lived", "c1")) === "" && cluster.spec.topology.version === NEXT_VERSION;
      return done && markOf(cluster, PENDING_HOOKS) === undefined;
    });
    const { metadata } = await cp.get(ref);
    await person.patch(ref, annotations({ [DELETE_APPROVED]: metadata.uid ?? "" }));
    await person.delete(ref);
    await waitUntilGone(cp, "lived", "c1");
  });

  /** What mover.go of clusterctl does to the source Cluster. */
  test("clusterctl move works for the listed", async () => {
    const ref = await running("moved", PRODUCTION);
    await restorer.patch(ref, { spec: { paused: true } });
    const value = { "clusterctl.cluster.x-k8s.io/delete-for-move": "" };
    await restorer.patch(ref, [{ op: "add", path: "/metadata/annotations", value }], { type: "json" });
    await restorer.delete(ref);
    await restorer.patch(ref, { metadata: { finalizers: [] } });
    assert.equal(await cp.find(ref), undefined);
  });
});

async function unsaved(namespace: string, marks: Readonly<Record<string, string>>): Promise<KubeObject> {
  await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  const { spec } = await cp.get(clusterRef("probe", "c1"));
  return {
    apiVersion: "cluster.x-k8s.io/v1beta2",
    kind: "Cluster",
    // Paused, as a restore does it: Cluster API does not touch it.
    metadata: { namespace, name: "c1", annotations: marks },
    spec: { paused: true, topology: spec.topology },
  };
}
