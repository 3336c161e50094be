/** A fleet in the middle of a day, as an operator has left it: for pages and pictures, without an operator. */

import type { DecisionRow, HookRolloutStatus } from "../../src/api/hook-policy.ts";
import { type KubeObject, refOf } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";
import { CLUSTER_API } from "../controlplane/lab-kinds.ts";

export const GROUP = "hookpolicy.dev/v1alpha1";
const MINUTE = 60_000;
const HOUR = 60 * MINUTE;

const ago = (ms: number): string => new Date(Date.now() - ms).toISOString().replace(/\.\d+Z$/, "Z");

const NIGHTS = { timeZone: "Europe/Berlin", allow: [{ schedule: "0 22 * * MON-THU", duration: "6h" }] };
/** The weekend of this fleet begins in three days, whatever day it is today: its window is closed. */
const WEEKENDS = {
  timeZone: "UTC",
  allow: [{ schedule: `0 20 * * ${weekday(3).toUpperCase()}`, duration: "58h" }],
  deny: [{ from: freezeDay(5), to: freezeDay(6) }],
};
const WEEKEND = freezeDay(3).replace("T00", "T20");

function policy(namespace: string, name: string, rules: readonly object[]): KubeObject {
  return { apiVersion: GROUP, kind: "HookPolicy", metadata: { namespace, name }, spec: { rules } };
}

const rule = (name: string, hook: string, ...until: readonly object[]): object => ({
  name,
  hooks: [hook],
  until,
  retryAfterSeconds: 30,
});
const approved = { name: "approved", annotation: { key: "hooks.example.com/approved" } };

const POLICIES = [
  policy("payments", "protect-production", [
    rule("confirmed-delete", "BeforeClusterDelete", approved),
    rule("approved-upgrade", "BeforeClusterUpgrade", approved, { name: "at-night", window: NIGHTS }),
  ]),
  policy("search", "weekend-upgrades", [
    rule("weekends", "BeforeClusterUpgrade", { name: "weekend", window: WEEKENDS }),
  ]),
  policy("platform", "two-pairs-of-eyes", [
    rule("reviewed", "BeforeClusterUpgrade", { ...approved, name: "reviewed" }),
  ]),
  {
    apiVersion: GROUP,
    kind: "ClusterHookPolicy",
    metadata: { name: "year-end-freeze" },
    spec: {
      namespaceSelector: {},
      clusterSelector: { matchLabels: { tier: "production" } },
      rules: [
        rule("no-upgrades", "BeforeClusterUpgrade", {
          name: "freeze",
          window: {
            timeZone: "UTC",
            allow: [{ schedule: "0 0 * * *", duration: "24h" }],
            deny: [{ from: freezeDay(9), to: freezeDay(13) }],
          },
        }),
      ],
    },
  },
] as const;

function freezeDay(days: number): string {
  return `${new Date(Date.now() + days * 24 * HOUR).toISOString().slice(0, 10)}T00:00:00Z`;
}

/** "Fri" */
function weekday(days: number): string {
  const options = { weekday: "short", timeZone: "UTC" } as const;
  return new Date(Date.now() + days * 24 * HOUR).toLocaleDateString("en", options);
}

export const CLUSTERS = [
  ["payments", "prod-eu-1", "production"],
  ["payments", "prod-us-1", "production"],
  ["payments", "prod-us-2", "production"],
  ["search", "index-1", "production"],
  ["search", "index-2", "production"],
  ["search", "staging", "staging"],
  ["platform", "observability", "production"],
  ["platform", "ci-runners", "staging"],
  ["platform", "sandbox-7", "sandbox"],
  ["payments", "staging", "staging"],
  ["search", "canary", "canary"],
  ["platform", "canary", "canary"],
] as const;

/** A Cluster with a topology, without Cluster API. */
function clusterObject(
  namespace: string,
  name: string,
  labels: Readonly<Record<string, string>> = {},
): KubeObject {
  return {
    apiVersion: CLUSTER_API,
    kind: "Cluster",
    metadata: { namespace, name, labels },
    spec: { topology: { classRef: { name: "standard" }, version: "v1.35.0" } },
  };
}

/** As Cluster API shows it: canaries are upgraded, the others wait. */
async function shown(cp: ControlPlane, namespace: string, name: string): Promise<KubeObject> {
  const ref = { apiVersion: CLUSTER_API, kind: "Cluster", namespace, name };
  const common = { type: "TopologyReconciled", lastTransitionTime: ago(HOUR), observedGeneration: 1 };
  const condition =
    name === "canary"
      ? { ...common, status: "True", reason: "ReconcileSucceeded", message: "" }
      : {
          ...common,
          status: "False",
          reason: "ClusterUpgrading",
          message: "Following hooks are blocking upgrade: BeforeClusterUpgrade: held",
        };
  return await cp.patchStatus(ref, { phase: "Provisioned", conditions: [condition] });
}

/** One whose upgrade waits. */
export async function createWaiting(cp: ControlPlane, namespace: string, name: string): Promise<KubeObject> {
  await cp.create(clusterObject(namespace, name));
  return await shown(cp, namespace, name);
}

interface HeldFor extends Pick<
  DecisionRow,
  "cluster" | "rule" | "gate" | "reason" | "message" | "earliestRelease"
> {
  readonly minutes: number;
}

function row(cluster: KubeObject, { minutes, ...held }: HeldFor): DecisionRow {
  const { namespace = "", uid = "" } = cluster.metadata;
  const since = ago(minutes * MINUTE);
  return {
    ...held,
    namespace,
    clusterUID: uid,
    hook: "BeforeClusterUpgrade",
    targetVersion: "v1.35.0",
    verdict: "Blocked",
    firstAsked: since,
    since,
  };
}

const APPROVAL = {
  reason: "WaitingForAnnotation",
  message: "wait for annotation hooks.example.com/approved on the Cluster: ask #platform for approval",
};
const NIGHT = {
  reason: "WindowClosed",
  message: `wait for the maintenance window to open: ${weekday(3)} 20:00 UTC`,
};

const HELD: Readonly<Record<string, readonly HeldFor[]>> = {
  "payments/protect-production": [
    { cluster: "prod-eu-1", minutes: 3_270, rule: "approved-upgrade", gate: "approved", ...APPROVAL },
    { cluster: "prod-us-1", minutes: 1_130, rule: "approved-upgrade", gate: "approved", ...APPROVAL },
    { cluster: "prod-us-2", minutes: 46, rule: "approved-upgrade", gate: "approved", ...APPROVAL },
  ],
  "search/weekend-upgrades": [
    {
      cluster: "index-1",
      minutes: 612,
      rule: "weekends",
      gate: "weekend",
      ...NIGHT,
      earliestRelease: WEEKEND,
    },
    {
      cluster: "index-2",
      minutes: 598,
      rule: "weekends",
      gate: "weekend",
      ...NIGHT,
      earliestRelease: WEEKEND,
    },
  ],
  "platform/two-pairs-of-eyes": [
    { cluster: "observability", minutes: 187, rule: "reviewed", gate: "reviewed", ...APPROVAL },
    { cluster: "ci-runners", minutes: 9, rule: "reviewed", gate: "reviewed", ...APPROVAL },
  ],
};

const ROLLOUT: KubeObject = {
  apiVersion: GROUP,
  kind: "HookRollout",
  metadata: { name: "kubernetes-1-35" },
  spec: {
    operation: "Upgrade",
    namespaceSelector: {},
    maxConcurrency: 2,
    progressDeadline: "6h",
    stages: [
      { name: "canary", clusterSelector: { matchLabels: { tier: "canary" } }, minSuccessTime: "2h" },
      { name: "staging", clusterSelector: { matchLabels: { tier: "staging" } }, maxConcurrency: "50%" },
      { name: "production", maxFailures: 1 },
    ],
  },
};

function rolloutStatus(clusters: ReadonlyMap<string, KubeObject>): HookRolloutStatus {
  const named = (cluster: string): { namespace: string; name: string; uid: string } => {
    const metadata = clusters.get(cluster)?.metadata ?? { name: "" };
    return { namespace: metadata.namespace ?? "", name: metadata.name, uid: metadata.uid ?? "" };
  };
  const none = { notAsked: 0, waiting: 0, running: 0, succeeded: 0, failed: 0 };
  const target = "v1.35.0";
  const claim = (cluster: string, minutes: number): NonNullable<HookRolloutStatus["running"]>[number] => ({
    ...named(cluster),
    target,
    stage: "staging",
    claimedAt: ago(minutes * MINUTE),
    renewedAt: ago(MINUTE),
    markedAt: ago(minutes * MINUTE),
    attempts: 1,
    claimed: true,
  });
  return {
    observedGeneration: 1,
    conditions: [
      { type: "Ready", status: "True", reason: "Ready", message: "in force", lastTransitionTime: ago(HOUR) },
    ],
    targets: [
      {
        version: target,
        stages: [
          { ...none, name: "canary", members: 2, succeeded: 2, passed: true },
          { ...none, name: "staging", members: 3, running: 1, failed: 1, succeeded: 1, passed: false },
          { ...none, name: "production", members: 7, waiting: 6, notAsked: 1, passed: false },
        ],
      },
    ],
    running: [claim("platform/ci-runners", 37)],
    failed: [
      {
        ...named("search/staging"),
        target,
        stage: "staging",
        reason: "Unhealthy",
        time: ago(20 * MINUTE),
        message: "the condition Available is False",
      },
    ],
    next: ["payments/prod-eu-1", "payments/prod-us-1"].map((cluster) => {
      const { uid: _, ...candidate } = named(cluster);
      return { ...candidate, target, stage: "production", since: ago(3 * HOUR) };
    }),
  };
}

/** Needs the definitions of Cluster API and HookPolicy. */
export async function createFleet(cp: ControlPlane): Promise<void> {
  for (const name of ["payments", "search", "platform"])
    await cp.apply({ apiVersion: "v1", kind: "Namespace", metadata: { name } });
  const clusters = new Map<string, KubeObject>();
  for (const [namespace, name, tier] of CLUSTERS) {
    await cp.create(clusterObject(namespace, name, { tier }));
    clusters.set(`${namespace}/${name}`, await shown(cp, namespace, name));
  }
  for (const each of POLICIES) {
    const stored = await cp.create(each);
    const { namespace = "", name, generation } = stored.metadata;
    const held = HELD[`${namespace}/${name}`] ?? [];
    const decisions = held.flatMap((one) => {
      const cluster = clusters.get(`${namespace}/${one.cluster}`);
      return cluster === undefined ? [] : [row(cluster, one)];
    });
    await cp.patchStatus(refOf(stored), {
      observedGeneration: generation,
      blocked: decisions.length,
      decisions,
    });
  }
  await cp.patchStatus(refOf(await cp.create(ROLLOUT)), rolloutStatus(clusters));
}
