/** One replica is asked about a Cluster, while everything that its answer depends on is changed by others. */

import type { RuleSpec } from "../../../src/api/hook-policy.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import type { DecisionStore } from "../../../src/memory/decision-store.ts";
import { storedPolicy } from "../../../src/memory/stored-views.ts";
import { viewCluster, viewNamespace } from "../../../src/views/cluster.ts";
import { decide } from "../../../src/policy/decide.ts";
import { APPROVED, at, compiled, DELETE, gated, NO_OBJECTS, NOW, UPGRADE } from "../builders.ts";
import type { Step } from "./explorer.ts";
import type { Fleet, Scenario } from "./fleet.ts";

const CLUSTER = "team-a/prod-1";
const SIGNED = "hooks.example.com/signed";

const HOOKS: Partial<RuleSpec> = { hooks: ["BeforeClusterDelete", "BeforeClusterUpgrade"] };
const approval = { name: "approved", annotation: { key: APPROVED } } as const;
const opens = {
  name: "open",
  window: { allow: [{ from: at("+1m").toISOString(), to: at("+1h").toISOString() }] },
};
const { kind: _, ...policy } = gated([approval], HOOKS);
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

/** Its owner wants another version. */
const { deletionTimestamp: _deleted, ...alive } = cluster.metadata;
const upgraded = withSpec(
  { ...cluster, metadata: { ...alive, annotations: { [APPROVED]: "" } } },
  { topology: { classRef: { name: "lab" }, version: UPGRADE.toKubernetesVersion } },
);

function withSpec(object: KubeObject, spec: object): KubeObject {
  return { ...object, spec: { ...Object(object.spec), ...spec } };
}

function annotated(object: KubeObject, annotations: Readonly<Record<string, string>>): KubeObject {
  return { ...object, metadata: { ...object.metadata, annotations } };
}

/** Whether the operation is wanted, and what the decision would be of one who sees everything as it is now. */
function mayGoOn({ api, clock, scenario: { call } }: Fleet): boolean {
  const raw = api.get("clusters", CLUSTER);
  const namespace = api.get("namespaces", "team-a");
  if (raw === undefined || namespace === undefined) return false;
  const policies = api.list("hookpolicies").map((object) => compiled(storedPolicy("HookPolicy", object)));
  const world = {
    cluster: viewCluster(raw),
    namespace: viewNamespace(namespace),
    objects: NO_OBJECTS,
    overrides: [],
  };
  const { metadata, paused, topology } = world.cluster;
  const isDeleted = metadata.deletionTimestamp !== undefined;
  const isWanted = call === DELETE ? isDeleted : topology?.version === UPGRADE.toKubernetesVersion;
  return isWanted && !paused && !decide(policies, world, call, clock.now).holds;
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

const change = (fleet: Fleet, what: string, open: boolean, spec: object): Step[] =>
  fleet.once(what, open, () => fleet.api.edit("clusters", CLUSTER, (object) => withSpec(object, spec)));

const target = (version: string | undefined): object => ({
  topology: { classRef: { name: "lab" }, version },
});

const takenBack: Scenario = {
  ...base,
  call: UPGRADE,
  objects: { ...base.objects, clusters: [upgraded] },
  others: (fleet) => [
    ...fleet.asks("A", CLUSTER, { times: 2, behind: true }),
    ...change(fleet, "the upgrade is taken back", true, target("v1.34.0")),
    ...change(
      fleet,
      "it is wanted again",
      fleet.hasHappened("the upgrade is taken back"),
      target(UPGRADE.toKubernetesVersion),
    ),
  ],
};

/** What matters is what happens before the snapshot, so what is read from then on is answered at once. */
const bySnapshot: Scenario = { ...base, follows: /^list clusterhookpolicies/ };

const paused: Scenario = {
  ...bySnapshot,
  objects: approvedAtFirst,
  others: (fleet) => [
    ...fleet.asks("A", CLUSTER),
    ...change(fleet, "the Cluster is paused", true, { paused: true }),
    ...annotate(fleet, "the approval is taken back", {}),
    ...change(fleet, "it is resumed", fleet.hasHappened("the Cluster is paused"), { paused: false }),
  ],
};

const LABELS = { tier: "production" };

/** Memory may not have seen the label, by which another policy with a window selects the Cluster. */
const opening: Scenario = {
  ...base,
  objects: {
    ...approvedAtFirst,
    hookpolicies: [
      policy,
      {
        ...policy,
        metadata: { ...policy.metadata, name: "window", uid: "uid-window" },
        spec: { ...gated([opens], HOOKS).spec, clusterSelector: { matchLabels: LABELS } },
      },
    ],
  },
  others: (fleet) => [
    ...fleet.once("the Cluster is labelled", true, () =>
      fleet.api.edit("clusters", CLUSTER, (object) => ({
        ...object,
        metadata: { ...object.metadata, labels: LABELS },
      })),
    ),
    ...(fleet.hasHappened("the Cluster is labelled") ? fleet.asks("A", CLUSTER) : []),
    ...annotate(fleet, "the approval is taken back", {}),
    ...fleet.once("the window opens", true, () => (fleet.clock.now = at("+1m"))),
  ],
};

/** What each of these takes away must be missed by the model. */
export const weakConfirmations: Readonly<Record<string, Scenario>> = {
  "an upgrade that is not wanted any more is released": { ...takenBack, weaken: wantsAll },
  "a paused Cluster is released": { ...paused, weaken: wantsAll },
  "time is judged after the reads alone": {
    ...opening,
    weaken: ({ decider }) => {
      const decideLive = decider.decideLive.bind(decider);
      decider.decideLive = (request, live, now) => decideLive(request, live, now);
    },
  },
};

function wantsAll({ decider }: DecisionStore): void {
  decider.isWanted = () => true;
}

export const releaseScenarios: Readonly<Record<string, Scenario>> = {
  "an upgrade is taken back, and wanted again": takenBack,
  "it is paused, its approval is taken back, and it is resumed": paused,
  "a window opens after an approval is taken back": opening,
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
