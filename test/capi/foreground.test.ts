/**
 * In a deletion in the foreground the garbage collector deletes what a Cluster owns, also while a hook holds the Cluster; in one
 * with orphans, it takes that from the Cluster. The default installation refuses both; a Namespace can opt out by a label.
 */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { ApiError, type KubeObject, type Ref, isRefused } from "../controlplane/client.ts";
import { clusterRef, createCluster, provision, waitUntilGone } from "../controlplane/lab.ts";
import { CLUSTER_API, LAB_CONTROL_PLANE, LAB_INFRASTRUCTURE } from "../controlplane/lab-kinds.ts";
import { applyPolicy, approvalRule, approve, policyRow, policyRef } from "../controlplane/policies.ts";
import { isCreated, isSeenByCollector, sharedFleet } from "./fleet.ts";

const HOOK = "BeforeClusterDelete";
const FINALIZER = "foregroundDeletion";
const OPT_OUT = "hookpolicy.dev/foreground-deletion";
const NAME = "c1";
/** What keeps the Cluster in a deletion in the foreground until it is gone. */
const BLOCKING = [
  [LAB_CONTROL_PLANE, "LabControlPlane"],
  [LAB_INFRASTRUCTURE, "LabCluster"],
] as const;
const OWNED = [...BLOCKING, [CLUSTER_API, "MachineDeployment"]] as const;
const IN_FOREGROUND = { propagationPolicy: "Foreground" };
const WITH_ORPHANS = { propagationPolicy: "Orphan" };
const REFUSAL =
  /Cluster (\S+)\/c1 cannot be deleted in the foreground: .*kubectl delete clusters\.cluster\.x-k8s\.io -n \1 c1 --cascade=background.*PrunePropagationPolicy=background/;
const REFUSED_ORPHANS =
  /Cluster (\S+)\/c1 cannot be deleted so that it orphans what it owns: .*To delete it with all of that: kubectl delete clusters\.cluster\.x-k8s\.io -n \1 c1 --cascade=background/;

const fleet = await sharedFleet();
const { cp } = fleet;
after(async () => await cp.stop());

/** With a control plane, an infrastructure and workers, under a policy that holds its deletion. */
async function protectedCluster(ns: string): Promise<Ref> {
  await applyPolicy(cp, policyRef(ns, "protect"), { rules: [approvalRule(HOOK)] });
  await createCluster(cp, { namespace: ns, name: NAME, workers: true });
  await isCreated(cp, ns, NAME);
  await provision(cp, ns, NAME);
  await cp.waitFor("the workers", async () => (await owned(ns)).length === OWNED.length);
  await isSeenByCollector(cp, ns);
  return clusterRef(ns, NAME);
}

/** "LabControlPlane uid", without what is being deleted. */
async function owned(ns: string): Promise<string[]> {
  const lists = OWNED.map(async ([apiVersion, kind]) => {
    const objects = await cp.list({ apiVersion, kind, namespace: ns });
    return objects
      .filter(({ metadata }) => metadata.deletionTimestamp === undefined && isOwned(metadata))
      .map(({ metadata }) => `${kind} ${metadata.uid}`);
  });
  return (await Promise.all(lists)).flat().toSorted();
}

/** Cluster API creates parts with another owner, and names the Cluster afterwards. */
function isOwned({ ownerReferences = [] }: KubeObject["metadata"]): boolean {
  return ownerReferences.some(({ kind }) => kind === "Cluster");
}

/**
 * The garbage collector has deleted parts of the Cluster, while the operator holds it. Not always all: on a busy machine those
 * that it does not know of by then outlive it.
 */
async function isDestroyedWhileHeld(ns: string): Promise<void> {
  await cp.waitFor("the garbage collector to delete what the Cluster owns", async () => {
    const [parts] = await Promise.all([owned(ns), cp.find(clusterRef(ns, NAME))]); // a wait in vain tells what both were
    return parts.length < OWNED.length;
  });
  assert.equal((await policyRow(cp, policyRef(ns, "protect"), NAME, HOOK)).verdict, "Blocked");
}

/** The API server learns of the label within a moment. */
async function setOptOut(ref: Ref, allowed: boolean): Promise<void> {
  const { namespace = "" } = ref;
  const labels = { [OPT_OUT]: allowed ? "allowed" : null };
  await cp.patch({ apiVersion: "v1", kind: "Namespace", name: namespace }, { metadata: { labels } });
  await cp.waitFor(
    "the label to count",
    async () => (await isRefused(remove(ref, IN_FOREGROUND, { dryRun: true }))) !== allowed,
  );
}

/** As clients send it: without a body, where there are no options. The Cluster as it is then. */
async function remove(
  { namespace = "", name }: Pick<Ref, "namespace" | "name">,
  options?: object,
  { dryRun = false, version = "v1beta2" } = {},
): Promise<KubeObject> {
  const path = `/apis/cluster.x-k8s.io/${version}/namespaces/${namespace}/clusters/${name}`;
  const body = { ...options, ...(dryRun && { dryRun: ["All"] }) };
  const sent = Object.keys(body).length === 0 ? undefined : JSON.stringify(body);
  return await cp.request<KubeObject>("DELETE", path, sent);
}

async function addFinalizer(ref: Ref, value = FINALIZER): Promise<KubeObject> {
  const patch = [{ op: "add", path: "/metadata/finalizers/-", value }];
  return await cp.patch(ref, patch, { type: "json" });
}

async function refused(attempt: Promise<unknown>, words = REFUSAL): Promise<void> {
  const error: unknown = await attempt.then(
    () => undefined,
    (e: unknown) => e,
  );
  assert.ok(error instanceof ApiError, "it was not refused");
  assert.equal(error.code, 403, error.message);
  assert.match(error.message, words);
}

async function isDeleted(ref: Ref): Promise<boolean> {
  return (await cp.get(ref)).metadata.deletionTimestamp !== undefined;
}

describe("without the refusal, a Cluster that a hook holds is destroyed", { concurrency: true }, () => {
  test("by a deletion in the foreground", async () => {
    const ref = await protectedCluster("fg-first");
    await setOptOut(ref, true);
    const args = ["delete", "clusters.cluster.x-k8s.io", "-n", "fg-first", NAME, "--cascade=foreground"];
    await cp.kubectl(...args, "--wait=false");
    await isDestroyedWhileHeld("fg-first");
  });

  test("by a second request, in the foreground", async () => {
    const ref = await protectedCluster("fg-second");
    await setOptOut(ref, true);
    await cp.delete(ref);
    await policyRow(cp, policyRef("fg-second", "protect"), NAME, HOOK);
    await cp.delete(ref, "Foreground");
    await isDestroyedWhileHeld("fg-second");
    await cp.delete(ref, "Background");
    assert.equal((await cp.get(ref)).metadata.finalizers?.includes(FINALIZER), false, "it is cured");
  });

  test("by a deletion without a policy, after the finalizer was put on it", async () => {
    const ref = await protectedCluster("fg-stored");
    await setOptOut(ref, true);
    await addFinalizer(ref);
    await remove(ref);
    await isDestroyedWhileHeld("fg-stored");
  });
});

describe("without the refusal, a Cluster that a hook holds loses what it owns", () => {
  test("by a second request, with orphans", async () => {
    const ref = await protectedCluster("fg-orphans");
    await setOptOut(ref, true);
    await cp.delete(ref);
    await policyRow(cp, policyRef("fg-orphans", "protect"), NAME, HOOK);
    await remove(ref, WITH_ORPHANS);
    await cp.waitFor("the garbage collector to take it", async () => {
      return (await owned("fg-orphans")).length < OWNED.length;
    });
  });
});

describe("the default installation", { concurrency: true }, () => {
  test("refuses a deletion in the foreground or with orphans, and a second one of a Cluster that is held", async () => {
    const ref = await protectedCluster("fg-refused");
    const parts = await owned("fg-refused");
    const args = ["delete", "clusters.cluster.x-k8s.io", "-n", "fg-refused", NAME];
    await assert.rejects(cp.kubectl(...args, "--cascade=foreground", "--wait=false"), REFUSAL);
    await assert.rejects(cp.kubectl(...args, "--cascade=orphan", "--wait=false"), REFUSED_ORPHANS);
    assert.equal(await isDeleted(ref), false, "nothing has begun");
    await cp.kubectl(...args, "--cascade=background", "--wait=false");
    await policyRow(cp, policyRef("fg-refused", "protect"), NAME, HOOK);
    await refused(remove(ref, IN_FOREGROUND));
    await refused(remove(ref, WITH_ORPHANS), REFUSED_ORPHANS);
    assert.equal((await cp.get(ref)).metadata.finalizers?.includes("orphan"), false);
    assert.deepEqual(await owned("fg-refused"), parts);
    await approve(cp, "fg-refused", NAME);
    await waitUntilGone(cp, "fg-refused", NAME);
  });

  test("refuses the finalizer, on a new Cluster and on a live one, and no other change of one that has it", async () => {
    const ref = await protectedCluster("fg-finalizer");
    const words = /Cluster fg-finalizer\/c\d cannot get the finalizer foregroundDeletion: /;
    const orphans =
      /Cluster fg-finalizer\/c\d cannot get the finalizer orphan: .*To delete it with all of that/;
    await refused(addFinalizer(ref), words);
    await refused(addFinalizer(ref, "orphan"), orphans);
    await refused(addFinalizer({ ...ref, apiVersion: "cluster.x-k8s.io/v1beta1" }), words);
    const { spec } = await cp.get(ref);
    const metadata = { namespace: "fg-finalizer", name: "c2", finalizers: [FINALIZER] };
    const { topology } = spec;
    const other = { apiVersion: CLUSTER_API, kind: "Cluster", metadata, spec: { paused: true, topology } };
    await refused(cp.create(other), words);
    await setOptOut(ref, true);
    await addFinalizer(ref);
    await setOptOut(ref, false);
    await cp.patch(ref, { metadata: { labels: { "example.com/other": "change" } } });
    await refused(remove(ref));
    await refused(remove(ref, { gracePeriodSeconds: 0 }));
    const without = (await cp.get(ref)).metadata.finalizers?.filter((each) => each !== FINALIZER);
    await cp.patch(ref, { metadata: { finalizers: without } });
    await refused(addFinalizer(ref), words);
  });

  /** Owner references are for everyone who may edit the Cluster. */
  test("refuses it to the garbage collector, too, which deletes the Cluster with its owner", async () => {
    const ref = await protectedCluster("fg-owner");
    const parts = await owned("fg-owner");
    const parent = { apiVersion: "v1", kind: "ConfigMap", namespace: "fg-owner", name: "parent" };
    const { apiVersion, kind, ...metadata } = parent;
    const { uid } = (await cp.create({ apiVersion, kind, metadata })).metadata;
    const owner = { apiVersion, kind, name: parent.name, uid, blockOwnerDeletion: true };
    await cp.patch(ref, { metadata: { ownerReferences: [owner] } });
    await isSeenByCollector(cp, "fg-owner");
    // It is collected, so the garbage collector has looked at what the parent owns.
    const probe = { ...metadata, name: "probe", ownerReferences: [owner] };
    await cp.create({ apiVersion, kind, metadata: probe });
    await cp.delete(parent, "Foreground");
    await cp.waitFor("the garbage collector to look at the owner", async () => {
      return (await cp.find({ ...parent, name: "probe" })) === undefined;
    });
    assert.equal(await isDeleted(ref), false);
    assert.deepEqual(await owned("fg-owner"), parts);
    await setOptOut(ref, true);
    await isDestroyedWhileHeld("fg-owner"); // it was this refusal that the garbage collector met
  });

  /** What the API server would store tells what the garbage collector would do. */
  test("refuses what the API server would make such a deletion, and nothing else", async () => {
    const policies = ["Foreground", "Background", "Orphan"].map((propagationPolicy) => ({
      propagationPolicy,
    }));
    const options = [undefined, {}, ...policies, { orphanDependents: false }, { orphanDependents: true }];
    const [free, guarded] = await Promise.all(["fg-free", "fg-guarded"].map(protectedCluster));
    assert.ok(free !== undefined && guarded !== undefined);
    const compare = async (state: string): Promise<number> => {
      let refusals = 0;
      for (const version of ["v1beta1", "v1beta2"])
        for (const each of options) {
          const sent = { dryRun: true, version };
          const { finalizers } = (await remove(free, each, sent)).metadata;
          const outcome = remove(guarded, each, sent);
          const [isForeground, orphans] = [FINALIZER, "orphan"].map((own) => finalizers?.includes(own));
          if (isForeground === true || orphans === true) {
            await refused(outcome, orphans === true ? REFUSED_ORPHANS : REFUSAL);
            refusals += 1;
          } else await outcome.catch(() => assert.fail(`${state}: ${JSON.stringify(each)} was refused`));
        }
      return refusals;
    };
    await setOptOut(free, true);
    assert.equal(await compare("without the finalizer"), 6);
    await setOptOut(guarded, true);
    for (const ref of [free, guarded]) await addFinalizer(ref);
    await setOptOut(guarded, false);
    assert.equal(await compare("with the finalizer"), 10);
    for (const ref of [free, guarded]) await remove(ref, { propagationPolicy: "Background" });
    assert.equal(await compare("being deleted"), 6);
    for (const ref of [free, guarded]) {
      await approve(cp, ref.namespace ?? "", ref.name);
      await waitUntilGone(cp, ref.namespace ?? "", ref.name);
    }
  });

  test("refuses it for all Clusters of a namespace at once, and lets them be deleted in the background", async () => {
    await createCluster(cp, { namespace: "fg-all", name: NAME });
    const path = `/apis/${CLUSTER_API}/namespaces/fg-all/clusters?dryRun=All`;
    await refused(cp.request("DELETE", `${path}&propagationPolicy=Foreground`));
    await cp.request("DELETE", `${path}&propagationPolicy=Background`);
    await cp.request("DELETE", path);
  });

  test("leaves alone a Cluster without topology, and one that the hook has released", async () => {
    await createCluster(cp, { namespace: "fg-else", name: NAME });
    const { spec } = await cp.get(clusterRef("fg-else", NAME));
    const apiGroup = LAB_INFRASTRUCTURE.split("/")[0];
    const specs: Record<string, object> = {
      plain: { paused: true, infrastructureRef: { apiGroup, kind: "LabCluster", name: "plain" } },
      released: { paused: true, topology: spec.topology },
    };
    for (const [name, own] of Object.entries(specs)) {
      const annotations = name === "released" ? { "runtime.cluster.x-k8s.io/ok-to-delete": "" } : {};
      const metadata = { namespace: "fg-else", name, annotations };
      await cp.create({ apiVersion: CLUSTER_API, kind: "Cluster", metadata, spec: own });
      await remove({ namespace: "fg-else", name }, IN_FOREGROUND, { dryRun: true });
    }
  });
});
