/** What happens to a HookPolicy that holds deletions, to its namespace and to its Clusters. */

import { FINALIZER } from "../../../src/api/hook-policy.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { at, hookPolicy, NOW } from "../builders.ts";
import type { Step } from "./explorer.ts";
import type { Fleet, Scenario } from "./fleet.ts";

const POLICY = "team-a/protect";
const CLUSTER = "team-a/prod-1";
const KEEP = "example.com/keep";
const DELETED = { deletionTimestamp: NOW.toISOString() };

const { kind: _, ...policy } = hookPolicy();
const cluster: KubeObject = {
  metadata: {
    name: "prod-1",
    namespace: "team-a",
    uid: "uid-prod-1",
    resourceVersion: "",
    finalizers: ["capi"],
  },
  // Without a topology no hook is asked, and no status has rows.
  spec: { infrastructureRef: { name: "prod-1" } },
};
const namespace: KubeObject = {
  metadata: { name: "team-a", uid: "uid-team-a", resourceVersion: "", finalizers: ["kubernetes"] },
};

const policyOf = ({ api }: Fleet): KubeObject | undefined => api.get("hookpolicies", POLICY);
const clusterOf = ({ api }: Fleet): KubeObject | undefined => api.get("clusters", CLUSTER);
const namespaceOf = ({ api }: Fleet): KubeObject | undefined => api.get("namespaces", "team-a");
const isLeft = (object: KubeObject | undefined): boolean =>
  object !== undefined && object.metadata.deletionTimestamp === undefined;
const isGoing = (object: KubeObject | undefined): boolean => object?.metadata.deletionTimestamp !== undefined;
const has = (object: KubeObject | undefined, finalizer: string): boolean =>
  object?.metadata.finalizers?.includes(finalizer) === true;

function withFinalizers(object: KubeObject, finalizers: readonly string[]): KubeObject {
  return { ...object, metadata: { ...object.metadata, finalizers } };
}

function deletePolicy(fleet: Fleet, who: string, open: boolean): Step[] {
  const { api, clock } = fleet;
  const run = (): void => api.delete("hookpolicies", POLICY, clock.now);
  return fleet.once(`${who} deletes the policy`, open && isLeft(policyOf(fleet)), run);
}

/** Nothing of the operator ends it: Cluster API has taken the Cluster down. */
function clusterGoes(fleet: Fleet, open: boolean): Step[] {
  return fleet.once("the Cluster is gone", open && isGoing(clusterOf(fleet)), () =>
    fleet.api.edit("clusters", CLUSTER, (object) => withFinalizers(object, [])),
  );
}

const base = {
  call: { hook: "BeforeClusterDelete" },
  startsAt: NOW,
  follows: /^patch/,
  forgetsStatus: true,
} as const;

const goesFirst = (fleet: Fleet): readonly string[] =>
  policyOf(fleet) === undefined && clusterOf(fleet) !== undefined
    ? ["the policy is gone, and the Cluster that it holds is not"]
    : [];

const outlivesItsClusters = (fleet: Fleet): readonly string[] =>
  isGoing(namespaceOf(fleet)) ? goesFirst(fleet) : [];

const isNotStuck = (fleet: Fleet): readonly string[] => {
  const { metadata } = policyOf(fleet) ?? {};
  if (metadata?.deletionTimestamp === undefined || !has(policyOf(fleet), FINALIZER)) return [];
  return isGoing(namespaceOf(fleet)) && clusterOf(fleet) !== undefined ? [] : ["the finalizer is stuck"];
};

/** The namespace controller has begun, and deletes policy and Clusters in any order. */
const terminating: Scenario = {
  ...base,
  objects: {
    hookpolicies: [withFinalizers(policy, [FINALIZER])],
    clusters: [{ ...cluster, metadata: { ...cluster.metadata, ...DELETED } }],
    namespaces: [{ ...namespace, metadata: { ...namespace.metadata, ...DELETED } }],
  },
  others: (fleet) => [...deletePolicy(fleet, "the namespace controller", true), ...clusterGoes(fleet, true)],
  broken: outlivesItsClusters,
  brokenAtRest: isNotStuck,
};

/** Somebody removes the finalizers of the namespace, and a GitOps tool makes it again. */
const forced: Scenario = {
  ...terminating,
  others: (fleet) => {
    const { api } = fleet;
    const begun = isGoing(namespaceOf(fleet));
    const again = { name: "team-a", uid: "uid-again", creationTimestamp: at("+1s").toISOString() };
    return [
      ...deletePolicy(fleet, "the namespace controller", begun),
      ...clusterGoes(fleet, true),
      ...fleet.once("the namespace is forced away", begun, () =>
        api.edit("namespaces", "team-a", (object) => withFinalizers(object, [])),
      ),
      ...fleet.once(
        "the namespace is made again",
        namespaceOf(fleet) === undefined,
        () => void api.put("namespaces", { metadata: { ...again, resourceVersion: "" } }),
      ),
    ];
  },
  broken: goesFirst,
  brokenAtRest: (fleet) => (clusterOf(fleet) === undefined ? isNotStuck(fleet) : []),
};

/** A Cluster that one replica has seen, and another one not yet. */
const unseen: Scenario = {
  ...terminating,
  objects: { hookpolicies: [policy], clusters: [], namespaces: [namespace] },
  others: (fleet) => {
    const { api, clock } = fleet;
    const begun = isGoing(namespaceOf(fleet));
    return [
      ...fleet.once("a Cluster is made", !begun, () => void api.put("clusters", cluster)),
      ...fleet.once("the namespace is deleted", has(policyOf(fleet), FINALIZER), () =>
        api.delete("namespaces", "team-a", clock.now),
      ),
      ...deletePolicy(fleet, "the namespace controller", begun),
    ];
  },
};

/** In a namespace that stays, policy and Clusters are their owner's. */
const owned: Scenario = {
  ...base,
  objects: {
    hookpolicies: [withFinalizers(policy, [KEEP])],
    clusters: [cluster],
    namespaces: [namespace],
  },
  others: (fleet) => [
    ...deletePolicy(fleet, "the owner", true),
    ...editPolicy(fleet, "the owner only observes", (object) => ({
      ...object,
      metadata: { ...object.metadata, generation: 2 },
      spec: { ...policy.spec, mode: "Audit" },
    })),
  ],
  broken: (fleet) => (has(policyOf(fleet), KEEP) ? [] : ["a finalizer of somebody else is gone"]),
  brokenAtRest: (fleet) => {
    const held = policyOf(fleet);
    if (!isLeft(held)) return isNotStuck(fleet);
    const { mode }: { mode?: string } = held?.spec ?? {};
    const wanted = clusterOf(fleet) !== undefined && mode === "Enforce";
    if (has(held, FINALIZER) === wanted) return [];
    return [`the finalizer ${wanted ? "is missing" : "is there for nothing"}`];
  },
};

function editPolicy(fleet: Fleet, what: string, change: (object: KubeObject) => KubeObject): Step[] {
  return fleet.once(what, isLeft(policyOf(fleet)), () => fleet.api.edit("hookpolicies", POLICY, change));
}

/** Somebody else writes to the list of finalizers at the same time. */
const shared: Scenario = {
  ...owned,
  follows: /^(patch|look for)/,
  objects: { hookpolicies: [policy], clusters: [], namespaces: [namespace] },
  others: (fleet) => [
    ...fleet.once("a Cluster is made", true, () => void fleet.api.put("clusters", cluster)),
    ...editPolicy(fleet, "somebody adds a finalizer", (object) =>
      withFinalizers(object, [...(object.metadata.finalizers ?? []), KEEP]),
    ),
    ...fleet.once("the Cluster is gone", clusterOf(fleet) !== undefined, () => {
      fleet.api.delete("clusters", CLUSTER, fleet.clock.now);
      fleet.api.edit("clusters", CLUSTER, (object) => withFinalizers(object, []));
    }),
  ],
  broken: (fleet) =>
    fleet.hasHappened("somebody adds a finalizer") && !has(policyOf(fleet), KEEP)
      ? ["a finalizer of somebody else is gone"]
      : [],
};

export const finalizerScenarios: Readonly<Record<string, Scenario>> = {
  "in a namespace that goes away, with two replicas": terminating,
  "in a namespace that goes away, with a replica that is killed": {
    ...terminating,
    replicas: 1,
    limits: { crashes: 1 },
  },
  "in a namespace that goes away, with an API server whose answers get lost": {
    ...terminating,
    replicas: 1,
    limits: { failures: 1 },
  },
  "in a namespace that is forced away, and made again": { ...forced, replicas: 1 },
  "in a namespace with a Cluster that one of two replicas has not seen": unseen,
  "in a namespace that stays, with an API server whose answers get lost": {
    ...owned,
    replicas: 1,
    limits: { failures: 1 },
  },
  "in a namespace that stays, with two replicas": owned,
  "beside a finalizer of somebody else": { ...shared, replicas: 1 },
};
