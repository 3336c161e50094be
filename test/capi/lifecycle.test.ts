/** The whole life of Clusters under the real Cluster API: every hook is called, held and released. */

import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import { HOOK_NAMES, type HookName } from "../../src/api/runtime-hooks.ts";
import { objectOf } from "../controlplane/client.ts";
import {
  clusterRef,
  createCluster,
  deleteCluster,
  finishControlPlaneUpgrade,
  provision,
  topologyMessage,
  upgrade,
  waitUntilGone,
} from "../controlplane/lab.ts";
import { CLUSTER_API } from "../controlplane/lab-kinds.ts";
import {
  APPROVED,
  applyPolicy,
  approvalRule,
  approve,
  clusterPolicyRef,
  condition,
  policyRow,
  noRow,
  policyRef,
  resultOf,
  statusOf,
} from "../controlplane/policies.ts";
import {
  askedAgain,
  extensionBeside,
  heldCluster,
  hooksCalled,
  isCreated,
  type SharedFleet,
  sharedFleet,
} from "./fleet.ts";

const MOST_CLUSTERS = 16;
/**
 * Cluster API calls extensions in the order of a Go map, which begins anywhere and is the same otherwise for the life of the
 * process (runtime/registry, List): with one registration it may hardly ever come before the operator's.
 */
const APPROVERS = ["approver-1", "approver-2", "approver-3", "approver-4", "approver-5"];

const fleet = await sharedFleet();
after(async () => fleet.cp.stop());

describe("a Cluster's life", () => {
  test("every hook is called in order, and a rule without until observes it", async () => {
    const { cp, operator } = fleet;
    const ref = clusterPolicyRef("audit-trail");
    const namespaceSelector = { matchLabels: { "kubernetes.io/metadata.name": "observed" } };
    await applyPolicy(cp, ref, { namespaceSelector, rules: [{ name: "all", hooks: HOOK_NAMES }] });
    await createCluster(cp, { namespace: "observed", name: "c1", workers: true });
    await provision(cp, "observed", "c1");
    await called(fleet, "observed/c1", "AfterControlPlaneInitialized");
    await upgrade(cp, "observed", "c1");
    await finishControlPlaneUpgrade(cp, "observed", "c1");
    await called(fleet, "observed/c1", "AfterClusterUpgrade");
    await deleteCluster(cp, "observed", "c1");
    await waitUntilGone(cp, "observed", "c1");
    assert.deepEqual(hooksCalled(operator, "observed/c1"), HOOK_NAMES);
    const policy = await cp.waitFor("nine results", async () => {
      const object = await cp.get(ref);
      return statusOf(object).recent?.length === 9 && object;
    });
    assert.deepEqual(new Set(statusOf(policy).recent?.map(({ verdict }) => verdict)), new Set(["Observed"]));
    await cp.delete(ref);
  });

  test("each of the eight blocking hooks holds the Cluster and lets it go", async () => {
    const { cp } = fleet;
    const blocking = HOOK_NAMES.filter((hook) => hook !== "AfterControlPlaneInitialized");
    const keyOf = (hook: HookName): string => `hooks.example.com/${hook}`;
    const ref = policyRef("held", "approvals");
    const rules = blocking.map((hook) => ({ ...approvalRule(hook, keyOf(hook)), name: hook.toLowerCase() }));
    await applyPolicy(cp, ref, { rules });
    const held = async (hook: HookName): Promise<void> => {
      const row = await policyRow(cp, ref, "c1", hook);
      assert.deepEqual([row.verdict, row.rule, row.gate], ["Blocked", hook.toLowerCase(), "approved"]);
      const text = new RegExp(`${hook}: HookPolicy held/approvals, rule .*${keyOf(hook)}`);
      await cp.waitFor(`Cluster API to say that ${hook} blocks`, async () =>
        text.test(await topologyMessage(cp, "held", "c1")),
      );
      await approve(cp, "held", "c1", keyOf(hook));
      await noRow(cp, ref, "c1", hook);
      await released(fleet, "held/c1", hook);
    };
    await createCluster(cp, { namespace: "held", name: "c1", workers: true });
    await held("BeforeClusterCreate");
    await provision(cp, "held", "c1");
    await called(fleet, "held/c1", "AfterControlPlaneInitialized");
    await upgrade(cp, "held", "c1");
    await held("BeforeClusterUpgrade");
    await held("BeforeControlPlaneUpgrade");
    await finishControlPlaneUpgrade(cp, "held", "c1");
    await held("AfterControlPlaneUpgrade");
    await held("BeforeWorkersUpgrade");
    await held("AfterWorkersUpgrade");
    await held("AfterClusterUpgrade");
    await deleteCluster(cp, "held", "c1");
    await held("BeforeClusterDelete");
    await waitUntilGone(cp, "held", "c1");
    assert.equal(statusOf(await cp.get(ref)).blocked, 0);
  });

  test("an upgrade whose workers are deleted while it is held is held as before, and released", async () => {
    const { cp } = fleet;
    const ref = policyRef("workerless", "protect");
    await applyPolicy(cp, ref, { rules: [approvalRule("BeforeWorkersUpgrade")] });
    await createCluster(cp, { namespace: "workerless", name: "c1", workers: true });
    await provision(cp, "workerless", "c1");
    await upgrade(cp, "workerless", "c1");
    await finishControlPlaneUpgrade(cp, "workerless", "c1");
    await policyRow(cp, ref, "c1", "BeforeWorkersUpgrade");
    await cp.patch(clusterRef("workerless", "c1"), { spec: { topology: { workers: null } } });
    const workers = { apiVersion: CLUSTER_API, kind: "MachineDeployment", namespace: "workerless" };
    await cp.waitFor("the workers to be gone", async () => (await cp.list(workers)).length === 0);
    await askedAgain(fleet, "workerless/c1", "BeforeWorkersUpgrade");
    assert.match(
      await topologyMessage(cp, "workerless", "c1"),
      /BeforeWorkersUpgrade: HookPolicy workerless/,
    );
    await approve(cp, "workerless", "c1");
    await released(fleet, "workerless/c1", "BeforeWorkersUpgrade");
    await called(fleet, "workerless/c1", "AfterClusterUpgrade");
  });

  test("a deletion is held, explained, and released after the annotation", async () => {
    const { cp } = fleet;
    const ref = await heldCluster(cp, "story");
    const row = await policyRow(cp, ref, "c1", "BeforeClusterDelete");
    assert.equal(row.firstAsked, (await cp.get(clusterRef("story", "c1"))).metadata.deletionTimestamp);
    await called(fleet, "story/c1", "BeforeClusterDelete");
    const columns = await cp.kubectl("get", "hookpolicy", "-n", "story");
    assert.match(
      columns,
      /NAME\s+READY\s+MODE\s+MATCHED\s+BLOCKED\s+NOT CALLED\s+ALARM\s+NEXT\s+AGE\nprotect\s+True\s+Enforce\s+1\s+1\s/,
    );
    const command = /\((kubectl annotate [^)]+)\)/.exec(row.message)?.[1] ?? "";
    await askedAgain(fleet, "story/c1", "BeforeClusterDelete");
    assert.ok(await cp.find(clusterRef("story", "c1")), "the Cluster is still there");
    await cp.kubectl(...command.split(" ").slice(1));
    await released(fleet, "story/c1", "BeforeClusterDelete");
    await waitUntilGone(cp, "story", "c1");
    const result = await cp.waitFor("the result", async () => statusOf(await cp.get(ref)).recent?.[0]);
    assert.deepEqual([result.cluster, result.verdict], ["c1", "Allowed"]);
  });

  test("a Cluster that the selector leaves out is not held", async () => {
    const { cp } = fleet;
    const ref = policyRef("selected", "production");
    const clusterSelector = { matchLabels: { tier: "production" } };
    await applyPolicy(cp, ref, { clusterSelector, rules: [approvalRule("BeforeClusterDelete")] });
    await createCluster(cp, { namespace: "selected", name: "dev", labels: { tier: "dev" } });
    await createCluster(cp, { namespace: "selected", name: "prod", labels: { tier: "production" } });
    for (const name of ["dev", "prod"]) await provision(cp, "selected", name);
    await cp.waitFor("one matched Cluster", async () => statusOf(await cp.get(ref)).matchedClusters === 1);
    await deleteCluster(cp, "selected", "dev");
    await deleteCluster(cp, "selected", "prod");
    await waitUntilGone(cp, "selected", "dev");
    assert.equal((await policyRow(cp, ref, "prod", "BeforeClusterDelete")).verdict, "Blocked");
    await approve(cp, "selected", "prod");
    await waitUntilGone(cp, "selected", "prod");
  });

  test("a ClusterHookPolicy holds by the Namespace's labels and by what they say", async () => {
    const { cp } = fleet;
    const ref = clusterPolicyRef("freeze");
    const until = [{ name: "thawed", label: { key: "freeze", from: "Namespace", value: "over" } }];
    await applyPolicy(cp, ref, {
      namespaceSelector: { matchLabels: { team: "frozen" } },
      rules: [{ name: "freeze", hooks: ["BeforeClusterCreate"], until, retryAfterSeconds: 5 }],
    });
    const labels = { team: "frozen" };
    await cp.apply(objectOf({ apiVersion: "v1", kind: "Namespace", name: "frozen", labels }));
    await cp.create({ ...(await templateOf(fleet)), metadata: { namespace: "frozen", name: "c1" } });
    assert.equal((await policyRow(cp, ref, "c1", "BeforeClusterCreate")).reason, "WaitingForLabel");
    await cp.kubectl("label", "namespace", "frozen", "freeze=over");
    await isCreated(cp, "frozen", "c1");
    await cp.delete(ref);
  });

  test("an approval that Cluster API deletes when it creates the Cluster is recorded all the same", async (t) => {
    const { cp } = fleet;
    const namespace = "stripped";
    const ref = policyRef(namespace, "protect");
    await applyPolicy(cp, ref, { rules: [approvalRule("BeforeClusterCreate")] });
    const extension = await extensionBeside(t, cp, namespace, APPROVERS);
    const waiting = new Set<string>();
    // Between Cluster API's read of the Cluster, without annotations, and its write.
    extension.doFirst("BeforeClusterCreate", async () => {
      for (const name of waiting) {
        waiting.delete(name);
        await approve(cp, namespace, name);
        await noRow(cp, ref, name, "BeforeClusterCreate");
        extension.allow("BeforeClusterCreate");
      }
    });
    // Where the operator comes first, a Cluster is approved too late, and keeps its approval.
    for (let number = 1; ; number += 1) {
      const name = `c${number}`;
      assert.ok(number <= MOST_CLUSTERS, "this Cluster API deletes no approval");
      // Cluster API then calls both after a second, and not after the five of the rule.
      extension.hold("BeforeClusterCreate", "not approved yet");
      await createCluster(cp, { namespace, name, annotations: {} });
      await policyRow(cp, ref, name, "BeforeClusterCreate");
      waiting.add(name);
      await isCreated(cp, namespace, name);
      assert.equal((await resultOf(cp, ref, name)).verdict, "Allowed");
      const { metadata } = await cp.get(clusterRef(namespace, name));
      if (metadata.annotations?.[APPROVED] === undefined) return;
    }
  });

  test("an edit of the policy lets the Cluster go", async () => {
    const { cp } = fleet;
    const ref = await heldCluster(cp, "edited");
    await applyPolicy(cp, ref, { mode: "Audit", rules: [approvalRule("BeforeClusterDelete")] });
    await waitUntilGone(cp, "edited", "c1");
    assert.equal(condition(await cp.get(ref), "Ready")?.status, "True");
  });
});

async function called({ cp, operator }: SharedFleet, cluster: string, hook: HookName): Promise<void> {
  await cp.waitFor(`${hook} of ${cluster} to be called`, () => hooksCalled(operator, cluster).includes(hook));
}

/** Cluster API has been told to go on. */
async function released({ cp, operator }: SharedFleet, cluster: string, hook: HookName): Promise<void> {
  await cp.waitFor(`${hook} of ${cluster} to be released`, () =>
    operator
      .lines()
      .some(
        (line) =>
          line["cluster"] === cluster && line.msg === `${hook} is called, response is Success. retry: 0`,
      ),
  );
}

/** A Cluster to copy the topology of. */
async function templateOf({ cp }: SharedFleet): Promise<{ apiVersion: string; kind: string; spec: unknown }> {
  const ref = clusterRef("template", "c1");
  const { spec } = (await cp.find(ref)) ?? (await createCluster(cp, { namespace: "template", name: "c1" }));
  return { apiVersion: ref.apiVersion, kind: ref.kind, spec: { topology: spec.topology } };
}
