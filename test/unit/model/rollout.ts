/** What happens to one HookRollout, and what the model must find where the protocol is weakened. */

import type { Cluster } from "../../../src/api/meta.ts";
import type { RolloutApi } from "../../../src/rollouts/rollout-api.ts";
import { NOW, TARGET } from "../rollouts/fixtures.ts";
import type { Step } from "./explorer.ts";
import type { RolloutFleet, RolloutScenario } from "./rollout-fleet.ts";
import { STUCK } from "./rollout-laws.ts";

const [NEWER, OLDER] = ["v1.36.0", "v1.34.9"];

const base: RolloutScenario = {
  clusters: { a: "rest", b: "rest" },
  spec: { maxConcurrency: 1, retryAfterSeconds: 300 },
};

const alone: RolloutScenario = { ...base, clusters: { a: "rest" }, asks: { a: ["B"] } };

/** Each replica is asked about one Cluster. */
const apart: RolloutScenario = { ...base, asks: { a: ["A"], b: ["B"] } };

/** The first of two Clusters is held for good, and not by the limit. */
const stuck: RolloutScenario = { ...base, clusters: { a: STUCK, b: "rest" } };
const ofStuck = { clusterSelector: { matchLabels: { wave: STUCK } } };

/** Two slots for three Clusters. */
const three: RolloutScenario = {
  ...base,
  clusters: { a: "rest", b: "rest", c: "rest" },
  asks: { a: ["A"], b: ["B"], c: ["B"] },
  spec: { ...base.spec, maxConcurrency: 2 },
};

/** One of the slots is taken when the story begins. */
const third: RolloutScenario = { ...three, begun: ["a"] };

const troubled: RolloutScenario = { ...third, writesAlone: true };

/** A tenant scales a Cluster that has its version. */
const soaking: RolloutScenario = {
  ...base,
  clusters: { c: "canary", p: "rest" },
  asks: { c: ["A"], p: ["B"] },
  spec: {
    ...base.spec,
    stages: [
      { name: "canary", clusterSelector: { matchLabels: { wave: "canary" } }, minSuccessTime: "1h" },
      { name: "rest" },
    ],
  },
  limits: { "a soak passes": 1 },
  others: (fleet) => [
    ...fleet.once("c is scaled", fleet.has("c", TARGET), () => fleet.scale("c")),
    ...fleet.once("c has been scaled", fleet.isScaling("c"), () => fleet.recover("c")),
  ],
  // It may be scaled before its success was seen.
  mayWait: (fleet) => fleet.isScaling("c"),
};

/** There are slots for both, but not for two with the same value of the label. */
const spread: RolloutScenario = {
  ...apart,
  spec: { ...base.spec, maxConcurrency: 2, spread: [{ labelKey: "wave", maxConcurrency: 1 }] },
};

/** One Cluster runs that is no member yet, and no slot was taken for it. */
const joining: RolloutScenario = {
  ...apart,
  clusters: { a: "other", b: "rest" },
  lags: ["B"],
  joins: true,
  spec: { ...base.spec, clusterSelector: { matchLabels: { wave: "rest" } } },
  others: (fleet) => fleet.once("a joins", fleet.isMarked("a"), () => fleet.label("a", { wave: "rest" })),
};

const paused = ({ spec }: RolloutFleet): boolean => spec.paused === true;
const edits =
  (what: string, change: Readonly<Record<string, unknown>>) =>
  (fleet: RolloutFleet): Step[] =>
    fleet.once(what, fleet.rollout !== undefined, () => fleet.editSpec(change));

const pausesAndResumes = (fleet: RolloutFleet): Step[] => [
  ...edits("it is paused", { paused: true })(fleet),
  ...(fleet.hasHappened("it is paused") ? edits("it is resumed", { paused: false })(fleet) : []),
];

/** The replica that is asked about b has not heard of a: while it confirms, the slot may be another's, and a policy is made. */
const frozen: RolloutScenario = {
  ...apart,
  lags: ["B"],
  endless: ["b"],
  others: (fleet) => fleet.once("a policy is made", fleet.isBusy("b"), () => fleet.makePolicy()),
};

/** For as long as a step or more takes. */
const AHEAD = { "a clock is ahead": 1 };

const LOST = { "an answer is lost": 1, "four minutes pass": 1 };
const VETOED = { "a go is vetoed": 1, "a minute passes": 1, "four minutes pass": 1 };
const GIVEN_UP = { "Cluster API gives up": 1, "four minutes pass": 1 };

const statusIsLost: Pick<RolloutScenario, "createdAgo" | "limits" | "others"> = {
  createdAgo: 600_000,
  limits: { "four minutes pass": 1 },
  others: (fleet) => fleet.once("its status is lost", true, () => fleet.loseStatus()),
};

export const rolloutScenarios: Readonly<Record<string, RolloutScenario>> = {
  "both replicas are asked about both Clusters": base,
  "informers of both replicas lag": { ...apart, lags: ["A", "B"] },
  "a Cluster joins while it runs, and the informers of a replica lag": joining,
  "three Clusters have two slots": { ...three, writesAlone: true },
  "three Clusters have two slots, and one of them runs": third,
  "three Clusters have two slots, one of them runs, and only writes take their time": troubled,
  "three Clusters have two slots, and a replica is killed": {
    ...troubled,
    limits: { "a replica is killed": 1 },
  },
  "three Clusters have two slots, and the informers of a replica lag": { ...troubled, lags: ["B"] },
  "three Clusters have two slots, and another extension holds one": {
    ...troubled,
    endless: true,
    limits: VETOED,
  },
  "three Clusters have two slots, and one that waits or runs is deleted": {
    ...troubled,
    others: (fleet) => fleet.once("b is deleted", true, () => fleet.remove("b")),
  },
  "three Clusters have two slots, and a newer version of one is wanted": {
    ...troubled,
    others: (fleet) =>
      fleet.once("a newer version is wanted", !fleet.isBusy("b"), () => fleet.want("b", NEWER)),
  },
  "three Clusters have two slots, and the rollout is paused and resumed": {
    ...troubled,
    others: pausesAndResumes,
    mayWait: paused,
  },
  "three Clusters have two slots, and the status is lost": {
    ...troubled,
    ...statusIsLost,
    endless: true,
  },
  "a Cluster of a stage that soaks is scaled": soaking,
  "a Cluster of a stage that soaks is scaled, and a replica is killed": {
    ...soaking,
    writesAlone: true,
    limits: { ...soaking.limits, "a replica is killed": 1 },
    // It then has not seen the success, and the soak begins again: the story has no time for that.
    mayWait: (fleet) => fleet.isScaling("c") || (fleet.hasHappened("a replica is killed") && fleet.soaks()),
  },
  "the clock of a replica is ahead for a moment": { ...apart, limits: AHEAD },
  "the clock of a replica is ahead for a moment while a stage soaks": {
    ...soaking,
    writesAlone: true,
    limits: { ...soaking.limits, ...AHEAD },
  },
  "a policy is made while a Cluster waits for its slot": frozen,
  "requests and their answers take their time": { ...apart, fine: true },
  "a gate holds the first Cluster": {
    ...stuck,
    spec: {
      ...base.spec,
      stages: [
        { name: "all", until: [{ name: "ok", expression: `cluster.metadata.labels.wave != '${STUCK}'` }] },
      ],
    },
  },
  "another rollout is paused for the first Cluster": { ...stuck, beside: { ...ofStuck, paused: true } },
  "another rollout has no slot for the first Cluster": {
    ...stuck,
    beside: { ...ofStuck, maxConcurrency: 0 },
  },
  "both Clusters have the same value of a label that is limited": spread,
  "a replica is killed, and starts again": { ...alone, limits: { "a replica is killed": 1 } },
  "leadership moves": { ...alone, limits: { "leadership moves": 1 } },
  "the answer to a write for one Cluster is lost": { ...alone, limits: LOST },
  "another extension holds one Cluster": { ...alone, limits: VETOED },
  "Cluster API gives up waiting for an answer about one Cluster": { ...alone, limits: GIVEN_UP },
  "a Cluster that has failed halts the rollout until it is well": {
    ...apart,
    failing: ["a"],
    others: (fleet) => [
      ...fleet.once("a minute passes", fleet.isUnhealthy("a"), () => fleet.wait(60_000)),
      ...fleet.once("a is well", fleet.isUnhealthy("a"), () => fleet.recover("a")),
    ],
    mayWait: (fleet) => fleet.isUnhealthy("a"),
  },
  "the rollout is paused, and resumed": { ...alone, others: pausesAndResumes, mayWait: paused },
  "the rollout is deleted": {
    ...apart,
    others: (fleet) =>
      fleet.once("it is deleted", true, () => fleet.api.delete("hookrollouts", "upgrades", NOW)),
  },
  "a Cluster is deleted while it waits or runs": {
    ...apart,
    others: (fleet) => fleet.once("a is deleted", true, () => fleet.remove("a")),
  },
  "its status is lost while one Cluster waits or runs": { ...alone, ...statusIsLost },
  "a stage waits for the one before": {
    ...base,
    clusters: { c: "canary", p: "rest" },
    asks: { c: ["A"], p: ["B"] },
    lags: ["A", "B"],
    spec: {
      ...base.spec,
      maxConcurrency: 2,
      stages: [{ name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } }, { name: "rest" }],
    },
  },
  "the version of a Cluster changes while its upgrade runs": {
    ...apart,
    others: (fleet) =>
      fleet.once("the version changes", fleet.isMarked("a"), () => fleet.changeVersion("a", NEWER)),
  },
  "the version of a Cluster changes to an older one while its upgrade runs": {
    ...apart,
    others: (fleet) =>
      fleet.once("the version changes", fleet.isMarked("a"), () => fleet.changeVersion("a", OLDER)),
    // It never has the version for which it took its slot, so it has failed.
    mayWait: (fleet) => fleet.isTrue("Halted"),
  },
  "a second upgrade of one Cluster is wanted": {
    ...alone,
    lags: ["A"],
    others: (fleet) =>
      fleet.once("a newer version is wanted", !fleet.isBusy("a"), () => fleet.want("a", NEWER)),
  },
  "a second upgrade is wanted where stages wait": {
    ...base,
    clusters: { c: "canary", p: "rest" },
    asks: { c: ["A"], p: ["B"] },
    spec: {
      ...base.spec,
      stages: [{ name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } }, { name: "rest" }],
    },
    others: (fleet) =>
      fleet.once(
        "a newer version is wanted",
        fleet.has("p", TARGET) && fleet.has("c", TARGET) && !fleet.isBusy("p") && !fleet.isBusy("c"),
        () => {
          fleet.want("c", NEWER);
          fleet.want("p", NEWER);
        },
      ),
  },
  "a claim outlives its deadline while no replica works": {
    ...alone,
    limits: { "an hour passes": 1, "a go is vetoed": 1 },
  },
};

const unversioned: RolloutScenario["weakness"] = {
  api: (api) => ({
    ...bound(api),
    replaceRolloutStatus: async (object, status) => {
      const { resourceVersion: _, ...metadata } = object.metadata;
      // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the weakness
      return await api.replaceRolloutStatus({ ...object, metadata } as typeof object, status);
    },
  }),
};

/** What each of these takes away must be missed by the model. */
export const weakRollouts: Readonly<Record<string, RolloutScenario>> = {
  "claims are written without their resourceVersion": {
    ...apart,
    weakness: unversioned,
  },
  "they are, and the limit is that of a label": { ...spread, weakness: unversioned },
  "the answer does not wait for the write of the claim": {
    ...apart,
    weakness: {
      api: (api) => ({
        ...bound(api),
        replaceRolloutStatus: async (object, status) => {
          void api.replaceRolloutStatus(object, status).catch(() => undefined);
          return await Promise.resolve({ ...object, status });
        },
      }),
    },
  },
  "slots are counted from informers": {
    ...apart,
    lags: ["A", "B"],
    weakness: {
      api: (api, replica) => ({
        ...bound(api),
        members: async () =>
          await Promise.resolve([...replica.clusters.values()].map(({ metadata }) => metadata)),
        getRollout: async (name) => {
          const object = await api.getRollout(name);
          const known = replica.rollouts.get(name)?.status;
          return object && known ? { ...object, status: known } : object;
        },
      }),
    },
  },
  "marks are counted from informers that may lag": {
    ...joining,
    weakness: {
      api: (api, replica) => ({
        ...bound(api),
        members: async () =>
          await Promise.resolve([...replica.clusters.values()].map(({ metadata }) => metadata)),
      }),
    },
  },
  "claims end sooner than a go takes": {
    ...apart,
    endless: true,
    limits: { "a minute passes": 1 },
    weakness: { haste: 5 },
  },
  "slots are given back from informers": {
    ...apart,
    endless: true,
    lags: ["A"],
    unseen: ["a"],
    asks: { a: ["B"], b: ["A"] },
    weakness: {
      api: (api, replica) => ({
        ...bound(api),
        findCluster: async (namespace, name): Promise<Cluster | undefined> =>
          await Promise.resolve(replica.clusters.get(`${namespace}/${name}`)),
      }),
    },
  },
};

/** Its clock is not compared with the API server's. */
const trusts = (what: "claims" | "statuses"): NonNullable<RolloutScenario["weakness"]> => ({
  api: (api, _, of) => (of === what ? { ...bound(api), clockAheadMs: () => 0 } : api),
});

export const weakClocks: Readonly<Record<string, RolloutScenario>> = {
  "claims do not compare their clock with the API server's": {
    ...apart,
    limits: AHEAD,
    weakness: trusts("claims"),
  },
  "statuses are written by a clock that is not compared": {
    ...apart,
    limits: AHEAD,
    weakness: trusts("statuses"),
  },
};

export const weakReleases: Readonly<Record<string, RolloutScenario>> = {
  "policies are looked at before the slot is taken, and not again": {
    ...frozen,
    weakness: { looksOnce: true },
  },
};

function bound(api: RolloutApi): RolloutApi {
  return {
    getRollout: api.getRollout.bind(api),
    members: api.members.bind(api),
    namespaces: api.namespaces.bind(api),
    findCluster: api.findCluster.bind(api),
    replaceRolloutStatus: api.replaceRolloutStatus.bind(api),
    isConflict: api.isConflict.bind(api),
    clockAheadMs: api.clockAheadMs.bind(api),
  };
}
