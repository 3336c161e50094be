/** One replica is asked about a Cluster, while everything that its answer depends on is changed by others. */

import type { KubeObject } from "../../../src/kube/resource.ts";
import { viewPolicy } from "../../../src/controller/storedviews.ts";
import { viewCluster, viewNamespace } from "../../../src/policy/cluster.ts";
import { decide } from "../../../src/policy/decide.ts";
import { APPROVED, compiled, DELETE, gated, NO_OBJECTS, NOW } from "../builders.ts";
import type { Step } from "./explorer.ts";
import type { Fleet, Scenario } from "./fleet.ts";

const CLUSTER = "team-a/prod-1";
const SIGNED = "hooks.example.com/signed";

const { kind: _, ...policy } = gated([{ name: "approved", annotation: { key: APPROVED } }]);
const stricter = gated([{ name: "signed", annotation: { key: SIGNED } }]).spec;
const cluster: KubeObject = {
  metadata: {
    name: "prod-1",
    namespace: "team-a",
    uid: "uid-prod-1",
    resourceVersion: "",
    generation: 1,
    finalizers: ["capi"],
    deletionTimestamp: NOW.toISOString(),
  },
  spec: {
    topology: { classRef: { name: "lab" }, version: "v1.34.0" },
    infrastructureRef: { name: "prod-1" },
  },
};

function annotated(object: KubeObject, annotations: Readonly<Record<string, string>>): KubeObject {
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** What the decision would be of somebody who sees everything as it is now. */
function mayGoOn({ api, clock }: Fleet): boolean {
  const raw = api.get("clusters", CLUSTER);
  const namespace = api.get("namespaces", "team-a");
  if (raw === undefined || namespace === undefined) return false;
  const policies = api.list("hookpolicies").map((object) => compiled(viewPolicy("HookPolicy", object)));
  const world = {
    cluster: viewCluster(raw),
    namespace: viewNamespace(namespace),
    objects: NO_OBJECTS,
    overrides: [],
  };
  return !decide(policies, world, DELETE, clock.now).holds;
}

const base: Scenario = {
  call: DELETE,
  objects: {
    hookpolicies: [policy],
    clusters: [cluster],
    namespaces: [{ metadata: { name: "team-a", uid: "uid-team-a", resourceVersion: "" } }],
  },
  startsAt: NOW,
  replicas: 1,
  forgetsStatus: true,
  reconciles: false,
  // What others change in these scenarios: a read of anything else finds the same whenever it is answered.
  follows: /^(get clusters|list clusterhookpolicies)/,
  others: () => [],
  mayGoOn,
  brokenAtRest: () => [],
};

const annotate = (fleet: Fleet, what: string, annotations: Readonly<Record<string, string>>): Step[] =>
  fleet.once(what, true, () =>
    fleet.api.edit("clusters", CLUSTER, (object) => annotated(object, annotations)),
  );

const approvedAtFirst = {
  ...base.objects,
  clusters: [annotated(cluster, { [APPROVED]: "" })],
};

export const releaseScenarios: Readonly<Record<string, Scenario>> = {
  "an approval is taken back and given again": {
    ...base,
    objects: approvedAtFirst,
    others: (fleet) => [
      ...fleet.asks("A", CLUSTER, { times: 2, behind: true }),
      ...annotate(fleet, "the approval is taken back", {}),
      ...annotate(fleet, "it is approved again", { [APPROVED]: "" }),
    ],
  },
  "a policy is edited to want something else, and the Cluster with it": {
    ...base,
    objects: approvedAtFirst,
    others: (fleet) => [
      ...fleet.asks("A", CLUSTER, { behind: true }),
      ...annotate(fleet, "it is signed, and not approved any more", { [SIGNED]: "" }),
      ...annotate(fleet, "it is neither", {}),
      ...fleet.once("the policy is edited", true, () =>
        fleet.api.edit("hookpolicies", "team-a/protect", (object) => ({
          ...object,
          metadata: { ...object.metadata, generation: 2 },
          spec: stricter,
        })),
      ),
    ],
  },
  "another policy is made": {
    ...base,
    objects: approvedAtFirst,
    others: (fleet) => [
      ...fleet.asks("A", CLUSTER),
      ...fleet.once("another policy is made", true, () => {
        const metadata = { ...policy.metadata, name: "second", uid: "uid-second" };
        fleet.api.put("hookpolicies", { ...policy, metadata, spec: stricter });
      }),
      ...annotate(fleet, "it is signed alone", { [SIGNED]: "" }),
    ],
  },
  "a policy is deleted, and made again with another spec": {
    ...base,
    objects: approvedAtFirst,
    others: (fleet) => [
      ...fleet.asks("A", CLUSTER),
      ...fleet.once("the policy is deleted", true, () =>
        fleet.api.delete("hookpolicies", "team-a/protect", fleet.clock.now),
      ),
      ...fleet.once("it is made again", fleet.hasHappened("the policy is deleted"), () => {
        const metadata = { ...policy.metadata, uid: "uid-again" };
        fleet.api.put("hookpolicies", { ...policy, metadata, spec: stricter });
      }),
    ],
  },
  "it is killed, and reads everything anew": {
    ...base,
    limits: { crashes: 1, relists: 1 },
    others: (fleet) => [
      ...fleet.asks("A", CLUSTER, { times: 2 }),
      ...annotate(fleet, "it is approved", { [APPROVED]: "" }),
    ],
  },
};
