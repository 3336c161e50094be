/** Two replicas write one status: each is asked about something else, or at another time. */

import type { DecisionRow, HookPolicyStatus } from "../../../src/api/hookpolicy.ts";
import { PENDING_HOOKS_ANNOTATION } from "../../../src/api/meta.ts";
import type { HookCall } from "../../../src/api/runtimehooks.ts";
import type { KubeObject } from "../../../src/kube/resource.ts";
import { APPROVED, at, hookPolicy, NOW, rule } from "../builders.ts";
import type { Step } from "./explorer.ts";
import type { Fleet, Scenario } from "./fleet.ts";

const POLICY = "team-a/protect";
const call: HookCall = {
  hook: "BeforeClusterUpgrade",
  fromKubernetesVersion: "v1.34.0",
  toKubernetesVersion: "v1.35.0",
};

const { kind: _, ...policy } = hookPolicy({ rules: [rule({ hooks: [call.hook] })] });

/** Its owner wants the upgrade, and Cluster API has not begun with it. */
function upgrading(name: string): KubeObject {
  return {
    metadata: { name, namespace: "team-a", uid: `uid-${name}`, resourceVersion: "", generation: 1 },
    spec: {
      topology: { classRef: { name: "lab" }, version: "v1.35.0" },
      infrastructureRef: { name },
    },
  };
}

const base = {
  call,
  startsAt: NOW,
  follows: /^put the status/,
} as const;

const namespaces = [{ metadata: { name: "team-a", uid: "uid-team-a", resourceVersion: "" } }];

function statusOf(object: KubeObject | undefined): HookPolicyStatus {
  return object?.status ?? {};
}

const rows = (object: KubeObject | undefined): readonly DecisionRow[] => statusOf(object).decisions ?? [];
const current = ({ api }: Fleet): KubeObject | undefined => api.get("hookpolicies", POLICY);

/** Of a hold that nobody has ended. */
const loseNoRow = ({ api }: Fleet): readonly string[] => {
  const [before, now] = api.events("hookpolicies").slice(-2);
  const left = new Set(rows(now?.object).map(({ cluster }) => cluster));
  return rows(before?.object)
    .filter(({ cluster }) => !left.has(cluster))
    .map(({ cluster }) => `the row of ${cluster} is lost`);
};

const blocked = (fleet: Fleet, want: readonly string[]): string[] => {
  const shown = rows(current(fleet)).map(({ cluster, verdict, firstAsked }) =>
    [cluster, verdict, firstAsked].join(" "),
  );
  const { blocked: count } = statusOf(current(fleet));
  if (JSON.stringify(shown) === JSON.stringify(want) && count === want.length) return [];
  return [`${count} blocked, and the rows are ${shown.join(", ")}, and not ${want.join(", ")}`];
};

const since = (offset: string): string => at(offset).toISOString().replace(".000Z", "Z");

const each: Scenario = {
  ...base,
  objects: { hookpolicies: [policy], clusters: [upgrading("a"), upgrading("b")], namespaces },
  others: (fleet) => [...fleet.asks("A", "team-a/a"), ...fleet.asks("B", "team-a/b")],
  broken: loseNoRow,
  brokenAtRest: (fleet) => {
    const asked = ["a", "b"].filter((name) => fleet.answered.includes(`team-a/${name}`));
    return blocked(
      fleet,
      asked.map((name) => `${name} Blocked ${since("+0s")}`),
    );
  },
};

const minute = (fleet: Fleet): Step[] =>
  fleet.once("a minute passes", true, () => (fleet.clock.now = at("+1m")));

/** Who was asked first, and when, is known to one replica alone until it has written that down. */
const both: Scenario = {
  ...base,
  objects: { hookpolicies: [policy], clusters: [upgrading("a")], namespaces },
  others: (fleet) => [
    ...minute(fleet),
    ...fleet.asks("A", "team-a/a"),
    ...(fleet.hasHappened("a minute passes") ? fleet.asks("B", "team-a/a") : []),
  ],
  broken: loseNoRow,
  brokenAtRest: (fleet) => {
    const first = fleet.answeredAt[0];
    return first === undefined
      ? []
      : blocked(fleet, [`a Blocked ${first.toISOString().replace(".000Z", "Z")}`]);
  },
};

const annotate = (fleet: Fleet, key: string, value: string) => (): void =>
  fleet.api.edit("clusters", "team-a/a", (object) => ({
    ...object,
    metadata: { ...object.metadata, annotations: { ...object.metadata.annotations, [key]: value } },
  }));

/** The hold ends by an approval. */
const ends: Scenario = {
  ...base,
  objects: { hookpolicies: [policy], clusters: [upgrading("a")], namespaces },
  others: (fleet) => [
    ...fleet.asks("A", "team-a/a"),
    ...fleet.once("it is approved", fleet.answered.length > 0, annotate(fleet, APPROVED, "")),
  ],
  brokenAtRest: (fleet) => {
    const held = fleet.answered.length > 0 && !fleet.hasHappened("it is approved");
    return blocked(fleet, held ? [`a Blocked ${since("+0s")}`] : []);
  },
};

/** Whoever lets it go tells so, once. */
const goes: Scenario = {
  ...ends,
  others: (fleet) => [
    ...fleet.once("it is approved", true, annotate(fleet, APPROVED, "")),
    ...fleet.asks("A", "team-a/a", { times: 2 }),
    ...fleet.once(
      "Cluster API goes on",
      fleet.wentOn,
      annotate(fleet, PENDING_HOOKS_ANNOTATION, "AfterClusterUpgrade"),
    ),
  ],
  mayGoOn: (fleet) => fleet.hasHappened("it is approved"),
  brokenAtRest: (fleet) => {
    const told = (statusOf(current(fleet)).recent ?? []).map(
      ({ cluster, verdict }) => `${cluster} ${verdict}`,
    );
    const want = fleet.wentOn ? "a Allowed" : "";
    return told.join(", ") === want ? [] : [`the results are ${told.join(", ")}, and not ${want}`];
  },
};

export const statusScenarios: Readonly<Record<string, Scenario>> = {
  "are each asked about another Cluster": each,
  "are killed after one was asked": {
    ...each,
    others: (fleet) => fleet.asks("A", "team-a/a"),
    limits: { crashes: 1 },
    // What it had not written down it is asked again.
    brokenAtRest: () => [],
  },
  "are asked about one Cluster, one after the other": both,
  "see the end of a hold": ends,
  "tell of what goes on": { ...goes, replicas: 1 },
};
