import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { HookRolloutSpec, HookRolloutStatus } from "../../../src/api/hook-policy.ts";
import { CONDITION } from "../../../src/api/hook-policy.ts";
import type { Cluster, Namespace, StoredNamespace } from "../../../src/api/meta.ts";
import { stubCluster, stubNamespace, viewMember } from "../../../src/views/too-large.ts";
import { memberOf } from "../../../src/rollouts/member.ts";
import { Slots } from "../../../src/rollouts/slots.ts";
import { clusterMeta, failureOf, member, NOW, rolloutOf, TARGET } from "./fixtures.ts";
import { ask, confirm, reasonOf, type Replica, waitingCluster, scopedReplica } from "./rollout-fixture.ts";

type Spec = Partial<HookRolloutSpec>;

const HEALTHY = [{ name: "ok", expression: "!('ill' in cluster.metadata.labels)" }];
const environment = (value: string) => ({ namespaceSelector: { matchLabels: { environment: value } } });
const wave = (value: string) => ({ clusterSelector: { matchLabels: { wave: value } } });
const BY_NAMESPACE: Spec = {
  healthyWhen: HEALTHY,
  stages: [{ name: "canary", ...environment("canary") }, { name: "rest" }],
};
const BY_CLUSTER: Spec = {
  healthyWhen: HEALTHY,
  stages: [
    { name: "canary", ...wave("canary") },
    { name: "rest", ...wave("rest") },
  ],
};

const namespaceOf = (name: string, value: string): Namespace => ({
  metadata: { name, uid: name, resourceVersion: "1", labels: { environment: value } },
});

function clusterIn(namespace: string, stage: string, over: Partial<Cluster> = {}): Cluster {
  const metadata = { ...clusterMeta("c", { wave: stage }), namespace, uid: `uid-${namespace}` };
  return { ...waitingCluster("c", { progress: { reconciled: true }, ...over }), metadata };
}

const OLD = { topology: { className: "lab", version: "v1.34.0" } };

/** A canary has succeeded, the other has the old version, and production waits. */
function fleetOf(spec: Spec, status: Partial<HookRolloutStatus> = {}) {
  const replica = scopedReplica(spec, status, []);
  const put = (cluster: Cluster): void => {
    const key = `${cluster.metadata.namespace ?? ""}/${cluster.metadata.name}`;
    const before = replica.known.get(key);
    replica.known.set(key, cluster);
    // The API server never has a stub.
    if (cluster.tooLarge !== true) replica.api.clusters.set(key, cluster);
    replica.rollouts.clusterChanged(before, cluster);
  };
  const create = (namespace: Namespace): void => {
    replica.namespaces.set(namespace.metadata.name, namespace);
    replica.api.present.set(namespace.metadata.name, namespace);
  };
  for (const name of ["canary-a", "canary-b"]) create(namespaceOf(name, "canary"));
  create(namespaceOf("prod", "production"));
  const other = clusterIn("canary-b", "canary", OLD);
  const prod = clusterIn("prod", "rest", { progress: { heldAt: "BeforeClusterUpgrade" } });
  for (const cluster of [clusterIn("canary-a", "canary"), other, prod]) put(cluster);
  return { ...replica, replica, put, create, other, prod };
}

/** As memory has it; `undefined`: it does not have it. */
function setNamespace(
  { namespaces, rollouts }: Replica,
  name: string,
  namespace: StoredNamespace | undefined,
): void {
  if (namespace === undefined) namespaces.delete(name);
  else namespaces.set(name, namespace);
  rollouts.membersChanged();
}

function stubs(replica: ReturnType<typeof fleetOf>, cluster: Cluster): Record<string, () => void> {
  const { namespace: name = "" } = cluster.metadata;
  const stubIt = (): void => replica.put(stubCluster(cluster));
  const stubIts = (): void => {
    const namespace = replica.namespaces.get(name);
    assert.ok(namespace);
    setNamespace(replica, name, stubNamespace(namespace));
  };
  const both = (): void => [stubIts, stubIt].forEach((each) => each());
  return { "the Cluster": stubIt, "its Namespace": stubIts, both };
}

const condition = (replica: Replica, wanted: string) =>
  replica.status().conditions?.find(({ type }) => type === wanted);
const stageOf = (replica: Replica, name: string) =>
  replica
    .status()
    .targets?.find(({ version }) => version === TARGET)
    ?.stages.find((each) => each.name === name);

for (const [by, spec] of Object.entries({ namespaces: BY_NAMESPACE, Clusters: BY_CLUSTER }))
  for (const what of ["the Cluster", "its Namespace", "both"]) {
    test(`stages by ${by}: none passes without a canary of which ${what} became too large`, async (t) => {
      const fleet = fleetOf(spec);
      await fleet.reconciler.reconcile("upgrades");
      assert.equal(reasonOf(await confirm(fleet.replica, fleet.prod)), "StageClosed");
      stubs(fleet, fleet.other)[what]?.();
      await fleet.reconciler.reconcile("upgrades");
      assert.equal(reasonOf(await confirm(fleet.replica, fleet.prod)), "StageClosed");
      assert.equal(stageOf(fleet.replica, "canary")?.passed, false);

      await t.test("and the rollout says why", () => {
        const { status, reason, message = "" } = condition(fleet.replica, CONDITION.Ready) ?? {};
        assert.deepEqual([status, reason], ["True", "TooLarge"]);
        assert.match(message, /canary-b\/c/);
      });
      await t.test("until it has succeeded, and is in memory again", async () => {
        fleet.namespaces.set("canary-b", namespaceOf("canary-b", "canary"));
        fleet.put(clusterIn("canary-b", "canary"));
        await fleet.reconciler.reconcile("upgrades");
        assert.equal(reasonOf(await confirm(fleet.replica, fleet.prod)), "go");
        assert.equal(condition(fleet.replica, CONDITION.Ready)?.reason, "Loaded");
      });
    });

    test(`stages by ${by}: a failure stays while ${what} of the failed canary is too large`, async () => {
      const failed = failureOf("c", { namespace: "canary-b", uid: "uid-canary-b" });
      const fleet = fleetOf(spec, { failed: [failed] });
      await fleet.reconciler.reconcile("upgrades");
      assert.equal(condition(fleet.replica, CONDITION.Halted)?.status, "True");
      stubs(fleet, fleet.other)[what]?.();
      await fleet.reconciler.reconcile("upgrades");
      assert.deepEqual(fleet.status().failed, [failed]);
      assert.equal(condition(fleet.replica, CONDITION.Halted)?.status, "True");
      assert.equal(reasonOf(await confirm(fleet.replica, fleet.prod)), "Halted");
    });
  }

test("a Cluster whose Namespace is too large waits as one that a rollout may select", () => {
  const fleet = fleetOf(BY_NAMESPACE);
  stubs(fleet, fleet.prod)["its Namespace"]?.();
  assert.equal(ask(fleet.replica, fleet.prod), "TooLarge");
});

describe("a Namespace of which the leader's memory has not the labels", () => {
  const unlabelled = (name: string): StoredNamespace => {
    const { metadata } = stubNamespace(namespaceOf(name, ""));
    return { metadata, tooLarge: true };
  };
  const lacks: Readonly<Record<string, (name: string) => StoredNamespace | undefined>> = {
    "it does not have the Namespace": () => undefined,
    "the labels are too large, too": unlabelled,
    "it has older ones": (name) => namespaceOf(name, "production"),
  };
  const limited: Spec = {
    ...BY_NAMESPACE,
    maxConcurrency: 10,
    stages: [{ name: "canary", maxConcurrency: 1, ...environment("canary") }, { name: "rest" }],
  };
  const spread: Spec = {
    maxConcurrency: 10,
    spread: [{ labelKey: "environment", from: "Namespace", maxConcurrency: 1 }],
  };
  const running = { metadata: clusterMeta("c", {}, true), progress: { begun: true } };
  for (const [what, seen] of Object.entries(lacks)) {
    const canaries = (spec: Spec) => {
      const fleet = fleetOf(spec);
      fleet.create({ metadata: { ...namespaceOf("canary-b", "canary").metadata, resourceVersion: "2" } });
      setNamespace(fleet, "canary-b", seen("canary-b"));
      return fleet;
    };
    test(`makes no stage smaller: ${what}`, async () => {
      const fleet = canaries(BY_NAMESPACE);
      await fleet.reconciler.reconcile("upgrades");
      assert.equal(stageOf(fleet.replica, "canary")?.passed, false);
      assert.equal(reasonOf(await confirm(fleet.replica, fleet.prod)), "StageClosed");
    });
    for (const [limit, spec] of Object.entries({ "of a stage": limited, "by labels": spread }))
      test(`makes no limit ${limit} larger: ${what}`, async () => {
        const fleet = canaries(spec);
        const { labels: _, ...metadata } = running.metadata;
        const marked = { ...metadata, namespace: "canary-b", uid: "uid-canary-b" };
        fleet.put({ ...clusterIn("canary-b", "canary", running), metadata: marked });
        const next = clusterIn("canary-a", "canary", { progress: { heldAt: "BeforeClusterUpgrade" } });
        fleet.put(next);
        const namespace = namespaceOf("canary-a", "canary");
        assert.equal(reasonOf(await confirm(fleet.replica, next, [], namespace)), "NoFreeSlot");
      });
  }

  test("makes its Clusters wait until it is known, and the rollout says so", async () => {
    const fleet = fleetOf(BY_NAMESPACE);
    setNamespace(fleet, "prod", undefined);
    assert.equal(ask(fleet.replica, fleet.prod), "NamespaceUnknown");
    await fleet.reconciler.reconcile("upgrades");
    const { status, reason, message = "" } = condition(fleet.replica, CONDITION.Ready) ?? {};
    assert.deepEqual([status, reason], ["True", "NamespaceUnknown"]);
    assert.match(message, /the Namespace of prod\/c is not known: no stage passes/);
    setNamespace(fleet, "prod", namespaceOf("prod", "production"));
    assert.equal(ask(fleet.replica, fleet.prod), "StageClosed");
  });

  test("does not matter where no selector and no limit reads labels of Namespaces", async () => {
    const fleet = fleetOf({
      ...BY_CLUSTER,
      spread: [{ labelKey: "kubernetes.io/metadata.name", from: "Namespace", maxConcurrency: 1 }],
    });
    setNamespace(fleet, "prod", undefined);
    fleet.put(clusterIn("canary-b", "canary"));
    await fleet.reconciler.reconcile("upgrades");
    assert.equal(reasonOf(await confirm(fleet.replica, fleet.prod)), "go");
    assert.equal(fleet.api.requests.includes("list namespaces"), false);
  });

  test("delays no stage of other Namespaces where it is too large and its labels are not", async () => {
    const fleet = fleetOf(BY_NAMESPACE);
    fleet.put(clusterIn("canary-b", "canary"));
    stubs(fleet, fleet.prod)["both"]?.();
    await fleet.reconciler.reconcile("upgrades");
    assert.equal(stageOf(fleet.replica, "canary")?.passed, true);
  });
});

test("a stage that cannot select the Cluster passes", async () => {
  const fleet = fleetOf(BY_NAMESPACE);
  fleet.put(clusterIn("canary-b", "canary"));
  stubs(fleet, fleet.prod)["the Cluster"]?.();
  await fleet.reconciler.reconcile("upgrades");
  assert.equal(stageOf(fleet.replica, "canary")?.passed, true);
});

describe("slots", () => {
  const rollout = rolloutOf({
    maxConcurrency: "50%",
    spread: [{ labelKey: "zone", from: "Cluster", maxConcurrency: 1 }],
    stages: [{ name: "canary", maxConcurrency: 1, ...wave("canary") }, { name: "rest" }],
  });
  const [canary] = rollout.stages;
  assert.ok(canary);
  const omitted = (name: string, isMarked: boolean) => {
    const { labels: _, ...metadata } = clusterMeta(name, {}, isMarked);
    const found = memberOf(rollout, { metadata: { ...metadata, labelsOmitted: true } }, undefined);
    assert.ok(found);
    return found;
  };
  const whole = ["a", "b", "c", "d"].map((name) => member(rollout, clusterMeta(name, { wave: "canary" })));

  test("of a Cluster without labels count in every stage and for every value", () => {
    const slots = new Slots(rollout, {}, [...whole, omitted("u", true)], NOW);
    assert.equal(slots.left, 1);
    assert.equal(slots.hasRoom({ stage: canary, values: ["eu"] }), false);
    slots.free("uid-u");
    assert.equal(slots.hasRoom({ stage: canary, values: ["eu"] }), true);
  });
  test("do not become more by such Clusters", () => {
    const slots = new Slots(rollout, {}, [...whole, omitted("u", false), omitted("v", false)], NOW);
    assert.equal(slots.left, 2);
  });
  test("count a Cluster whose labels are too large to list", () => {
    const labels = Object.fromEntries(
      Array.from({ length: 600 }, (_, index) => [`l${index}`, "x".repeat(40)]),
    );
    const metadata = viewMember(clusterMeta("u", labels, true));
    assert.equal(metadata.labels, undefined);
    assert.equal(memberOf(rolloutOf(BY_CLUSTER), { metadata }, undefined)?.mayBeIn?.length, 2);
    assert.equal(memberOf(rolloutOf(wave("canary")), { metadata }, undefined)?.marked, true);
  });
});
