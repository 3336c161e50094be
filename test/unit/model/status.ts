/**
 * Two replicas write one status, each when it sees what Cluster API waits for. Calls are not part of it: what is
 * remembered follows from the Cluster alone (test/redteam/trigger-law.test.ts).
 */

import type { DecisionRow, HookPolicyStatus } from "../../../src/api/hook-policy.ts";
import { PENDING_HOOKS_ANNOTATION } from "../../../src/api/meta.ts";
import type { HookCall } from "../../../src/api/runtime-hooks.ts";
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

/** Cluster API writes into it that a hook has held it. */
const held = (fleet: Fleet, name: string): Step[] =>
  fleet.once(`${name} is held`, true, () =>
    fleet.api.edit("clusters", `team-a/${name}`, (object) => ({ ...object, status: HELD })),
  );

const HELD = {
  conditions: [
    {
      type: "TopologyReconciled",
      status: "False",
      reason: "ClusterUpgrading",
      message: `Following hooks are blocking upgrade: ${call.hook}: held`,
    },
  ],
};

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
  others: (fleet) => [...held(fleet, "a"), ...held(fleet, "b")],
  broken: loseNoRow,
  brokenAtRest: (fleet) =>
    blocked(
      fleet,
      ["a", "b"]
        .filter((name) => fleet.hasHappened(`${name} is held`))
        .map((name) => `${name} Blocked ${since("+0s")}`),
    ),
};

const minute = (fleet: Fleet): Step[] =>
  fleet.once("a minute passes", true, () => (fleet.clock.now = at("+1m")));

/** Who saw it first, and when, is known to one replica alone until it has written that down. */
const both: Scenario = {
  ...base,
  objects: { hookpolicies: [policy], clusters: [upgrading("a")], namespaces },
  others: (fleet) => [...minute(fleet), ...held(fleet, "a")],
  broken: loseNoRow,
  brokenAtRest: (fleet) => {
    if (!fleet.hasHappened("a is held")) return blocked(fleet, []);
    const [row] = rows(current(fleet));
    const asked = row?.firstAsked ?? "";
    return [since("+0s"), since("+1m")].includes(asked)
      ? blocked(fleet, [`a Blocked ${asked}`])
      : [`it was asked first at ${asked}`];
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
    ...held(fleet, "a"),
    ...fleet.once("it is approved", fleet.hasHappened("a is held"), annotate(fleet, APPROVED, "")),
  ],
  brokenAtRest: (fleet) => {
    const waits = fleet.hasHappened("a is held") && !fleet.hasHappened("it is approved");
    return blocked(fleet, waits ? [`a Blocked ${since("+0s")}`] : []);
  },
};

/** Once the Cluster shows that the operation went on, that is recorded once. */
const goes: Scenario = {
  ...ends,
  others: (fleet) => [
    ...ends.others(fleet),
    ...fleet.once(
      "Cluster API goes on",
      fleet.hasHappened("it is approved"),
      annotate(fleet, PENDING_HOOKS_ANNOTATION, "AfterClusterUpgrade"),
    ),
  ],
  brokenAtRest: (fleet) => {
    const told = (statusOf(current(fleet)).recent ?? []).map(
      ({ cluster, verdict }) => `${cluster} ${verdict}`,
    );
    const want = fleet.hasHappened("Cluster API goes on") ? "a Allowed" : "";
    return told.join(", ") === want ? [] : [`the results are ${told.join(", ")}, and not ${want}`];
  },
};

export const statusScenarios: Readonly<Record<string, Scenario>> = {
  "see two Clusters held": each,
  "are killed after a Cluster is held": {
    ...each,
    others: (fleet) => held(fleet, "a"),
    limits: { crashes: 1 },
  },
  "see one Cluster held, one after the other": both,
  "see the end of a hold": ends,
  "see what goes on": { ...goes, replicas: 1 },
};
