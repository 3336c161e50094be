/** One namespace stores more than the operator can keep: it starts all the same, and other namespaces notice nothing. */

import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { after, before, describe, test } from "node:test";
import type { HookRolloutStatus } from "../../src/api/hook-policy.ts";
import type { HookResponse } from "../../src/api/runtime-hooks.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { objectOf } from "../controlplane/client.ts";
import { clusterRef, createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { installHookPolicy, type Operator } from "../controlplane/operator.ts";
import {
  APPROVED,
  approvalRule,
  approve,
  clusterPolicyRef,
  condition,
  policyIsReady,
  policyRef,
  policyRow,
  storePolicy,
  storeRollout,
} from "../controlplane/policies.ts";
import { startShipped } from "../controlplane/shipped.ts";
import { asClusterApi, inParallel } from "./operator-lab.ts";

/** A third of what is shipped, so that a third of the objects do. */
const MEMORY_MIB = 170;
const [POLICIES, CLUSTERS] = [60, 110];
const AT_A_TIME = 12;
/** Memory packs variables, and these cannot be packed. */
const tier = randomBytes(525_000).toString("base64");
const ballast = {
  labels: { ballast: "yes" },
  annotations: { "tenant.example.com/ballast": "x".repeat(255 * 1024) },
};
const READS_SERVICES = {
  apiVersion: "rbac.authorization.k8s.io/v1",
  kind: "ClusterRole",
  metadata: { name: "read-services", labels: { "hookpolicy.dev/aggregate-to-operator": "true" } },
  rules: [{ apiGroups: [""], resources: ["services"], verbs: ["get", "list", "watch"] }],
};
const names = (count: number): string[] => Array.from({ length: count }, (_, index) => `n${index}`);

describe("a namespace that stores more than its share", () => {
  let cp: ControlPlane;
  let operator: Operator;
  before(async () => {
    cp = await startControlPlane({ seed: "cluster" });
    await installHookPolicy(cp);
    await installClusterDefinition(cp);
    const rules = [approvalRule("BeforeClusterUpgrade")];
    for (const namespace of ["tenant", "neighbour"]) {
      await storePolicy(cp, policyRef(namespace, "protect"), { rules });
      await createCluster(cp, { namespace, name: "c1", version: NEXT_VERSION });
    }
    await approve(cp, "tenant", "c1");
    await stage("tenant", "canary");
    await stage("prod", "production");
    await stage("canary", "canary");
    await showReconciled("canary", "in-canary");
    await inParallel(names(POLICIES), AT_A_TIME, async (name) => {
      await cp.create(objectOf({ ...policyRef("tenant", name), ...ballast }, { spec: { rules } }));
    });
    await inParallel(names(CLUSTERS), AT_A_TIME, async (name) => {
      const variables = [{ name: "tier", value: tier }];
      const spec = { topology: { classRef: { name: "some" }, version: NEXT_VERSION, variables } };
      await cp.create(objectOf({ ...clusterRef("tenant", name), ...ballast }, { spec }));
    });
    await cp.apply(READS_SERVICES);
    await start();
  });
  after(async () => await cp?.stop());

  const start = async (): Promise<void> => {
    operator = asClusterApi(cp, await startShipped(cp, { memoryMiB: MEMORY_MIB }));
    await cp.waitFor("the operator to load", () =>
      operator.lines().some(({ msg }) => msg.startsWith("Loaded policies")),
    );
  };

  /** Clusters belong to a stage of the rollout by the label of their Namespace. */
  const stage = async (namespace: string, wave: string): Promise<void> => {
    if (namespace !== "tenant")
      await createCluster(cp, {
        namespace,
        name: `in-${namespace}`,
        version: NEXT_VERSION,
        labels: { fleet: "staged" },
      });
    const ref = { apiVersion: "v1", kind: "Namespace", name: namespace };
    await cp.patch(ref, { metadata: { labels: { wave } } });
  };

  const showReconciled = async (namespace: string, name: string): Promise<void> => {
    const { metadata } = await cp.get(clusterRef(namespace, name));
    const reconciled = {
      type: "TopologyReconciled",
      status: "True",
      reason: "ReconcileSucceeded",
      message: "",
      observedGeneration: metadata.generation,
      lastTransitionTime: "2026-11-23T11:00:00Z",
    };
    await cp.patchStatus(clusterRef(namespace, name), { conditions: [reconciled] });
  };

  const ask = async (namespace: string, name: string): Promise<HookResponse> => {
    const { status: _, ...cluster } = await cp.get(clusterRef(namespace, name));
    const request = { cluster, fromKubernetesVersion: "v1.33.0", toKubernetesVersion: NEXT_VERSION };
    return await operator.ask("BeforeClusterUpgrade", request);
  };

  const released = async (namespace: string): Promise<void> => {
    await cp.waitFor(`the release of ${namespace}/c1`, async () => {
      const { retryAfterSeconds = 0 } = await ask(namespace, "c1");
      return retryAfterSeconds === 0;
    });
  };

  test("holds its own Clusters, approved ones too, and says why", async () => {
    const { retryAfterSeconds, message = "" } = await ask("tenant", "c1");
    assert.ok((retryAfterSeconds ?? 0) > 0);
    assert.match(message, /objects of namespace tenant take more than their share of the operator's memory/);
    await cp.waitFor("the condition of each policy", async () => {
      const policies = await Promise.all(
        ["protect", "n0", `n${POLICIES - 1}`].map(async (name) => await cp.get(policyRef("tenant", name))),
      );
      return policies.every((policy) => condition(policy, "Ready")?.reason === "TooLarge");
    });
    const clusters = await operator.metric(
      "hookpolicy_informer_objects_too_large",
      'resource="clusters.cluster.x-k8s.io"',
    );
    assert.equal(clusters, CLUSTERS + 1);
    const said = operator.lines().filter(({ msg }) => msg.startsWith("Objects are not kept"));
    assert.deepEqual(
      said.map(({ owner }) => owner),
      ["tenant"],
    );
  });

  test("lets no stage of a rollout pass that may have its Clusters", async () => {
    const rollout = await storeRollout(cp, "staged", {
      clusterSelector: { matchLabels: { fleet: "staged" } },
      healthyWhen: [{ name: "always", expression: "true" }],
      stages: [{ name: "canary", namespaceSelector: { matchLabels: { wave: "canary" } } }, { name: "rest" }],
    });
    const canary = await cp.waitFor("the canary in memory to have succeeded", async () => {
      await ask("prod", "in-prod");
      const { targets = [] }: HookRolloutStatus = (await cp.get(rollout)).status ?? {};
      return targets[0]?.stages.find(({ name, succeeded }) => name === "canary" && succeeded === 1);
    });
    assert.equal(canary.passed, false);
    assert.equal(condition(await cp.get(rollout), "Ready")?.reason, "TooLarge");
    assert.match((await ask("prod", "in-prod")).message ?? "", /waits for stage canary/);
  });

  test("proves nothing by the objects that it does not have, whatever the failurePolicy", async () => {
    const object = { apiVersion: "v1", kind: "Service", namespace: "tenant", selector: {}, absent: true };
    const policy = clusterPolicyRef("nothing-left");
    await storePolicy(cp, policy, {
      namespaceSelector: { matchLabels: { wave: "production" } },
      failurePolicy: "Ignore",
      rules: [{ name: "r", hooks: ["BeforeClusterUpgrade"], until: [{ name: "g", object }] }],
    });
    await cp.waitFor("the reason", async () => {
      const { message = "" } = await ask("prod", "in-prod");
      return /objects of namespace tenant take more than their share/.test(message);
    });
    const row = await policyRow(cp, policy, "in-prod", "BeforeClusterUpgrade");
    assert.deepEqual([row.verdict, row.reason], ["NotEvaluable", "TooLarge"]);
    await cp.delete(policy);
  });

  test("costs a neighbour nothing", async () => {
    await policyIsReady(cp, await cp.get(policyRef("neighbour", "protect")));
    const { retryAfterSeconds = 0, message = "" } = await ask("neighbour", "c1");
    assert.ok(retryAfterSeconds > 0);
    assert.match(message, new RegExp(APPROVED));
    await approve(cp, "neighbour", "c1");
    await released("neighbour");
  });

  test("is itself again once it stores less", async () => {
    // Without the policies' annotations a release is confirmed in time: it reads the metadata of all policies.
    await inParallel(names(CLUSTERS), AT_A_TIME, async (name) => await cp.delete(clusterRef("tenant", name)));
    await inParallel(names(POLICIES), AT_A_TIME, async (name) => await cp.delete(policyRef("tenant", name)));
    await cp.waitFor("the operator to read what fits", () =>
      operator.lines().some(({ msg }) => msg.startsWith("Objects fit into memory again")),
    );
    await operator.daemon.stop();
    await start();
    await released("tenant");
    const policy = await policyIsReady(cp, await cp.get(policyRef("tenant", "protect")));
    assert.equal(condition(policy, "Ready")?.reason, "Loaded");
  });
});
