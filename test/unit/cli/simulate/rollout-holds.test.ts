/** What a simulation over a time computes and keeps of HookRollouts, for fleets of any size. */

import assert from "node:assert/strict";
import test from "node:test";
import { servedHooks } from "../../../../src/api/hook-catalog.ts";
import { Fleet } from "../../../../src/cli/fleet/fleet.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import { rolloutEdges } from "../../../../src/cli/fleet/rollout-state.ts";
import { type AwaitedOperation, rolloutHolds } from "../../../../src/cli/simulate/rollout-holds.ts";
import { UsageError } from "../../../../src/lib/thrown.ts";
import { TooManyChanges } from "../../../../src/operations/timeline.ts";
import { rawCluster, rawNamespace, rawOverride, rawRollout } from "../raw.ts";

const AT = new Date("2026-11-21T12:00:00Z");
const minutes = (count: number): Date => new Date(AT.getTime() + count * 60_000);

const cluster = (name: string, namespace = "team-a"): RawObject => ({
  ...rawCluster({ namespace, name }),
  spec: { topology: { classRef: { name: "lab" }, version: "v1.36.0" } },
});
const rollout = (spec: object, name = "upgrades"): RawObject =>
  rawRollout(name, { maxConcurrency: 1, ...spec });
const override = (name: string, minute: number, over: object): RawObject =>
  rawOverride(
    { name, creationTimestamp: AT.toISOString() },
    {
      clusterRef: { namespace: "team-a", name: "a" },
      hooks: ["BeforeClusterUpgrade"],
      expiresAt: minutes(minute).toISOString(),
      ...over,
    },
  );

const fleetOf = (...objects: readonly RawObject[]): Fleet =>
  new Fleet(objects, { served: servedHooks(14), maxOverrideMs: 86_400_000, now: AT });

const operationsOf = (fleet: Fleet): readonly AwaitedOperation[] =>
  fleet.clusters().map((each) => ({
    world: fleet.world(each),
    call: { hook: "BeforeClusterUpgrade", toKubernetesVersion: "v1.36.0" },
    firstAsked: AT,
    released: true,
  }));

const everyMinute = (count: number): readonly Date[] => Array.from({ length: count }, (_, at) => minutes(at));

test("a hold that stays is kept once", () => {
  const fleet = fleetOf(cluster("a"), cluster("b"), cluster("c"), rollout({}));
  const found = rolloutHolds(fleet, operationsOf(fleet), everyMinute(100), { at: AT });
  const [b, c] = ["b", "c"].map((name) => found.get(`BeforeClusterUpgrade team-a/${name}`));
  assert.deepEqual(
    [...found.values()].map(({ length }) => length),
    [1, 1],
  );
  assert.equal(b?.[0]?.held?.hold.reason, "NoFreeSlot");
  assert.deepEqual(b?.[0], c?.[0]);
});

test("a Cluster that another rollout holds takes no slot", () => {
  const onlyA = { matchExpressions: [{ key: "wave", operator: "DoesNotExist" }] };
  const labelled = { ...cluster("b"), metadata: { namespace: "team-a", name: "b", labels: { wave: "1" } } };
  const paused = rollout({ paused: true, clusterSelector: onlyA }, "zone");
  const fleet = fleetOf(cluster("a"), labelled, rollout({}), paused);
  const found = rolloutHolds(fleet, operationsOf(fleet), [AT], { at: AT });
  assert.deepEqual(
    [...found].map(([key, [first]]) => [key, first?.held?.hold.rollout]),
    [["BeforeClusterUpgrade team-a/a", "zone"]],
  );
});

test("the end of a hold is kept", () => {
  const window = { timeZone: "UTC", allow: [{ schedule: "10 * * * *", duration: "10m" }] };
  const stages = [{ name: "all", until: [{ name: "short", window }] }];
  const fleet = fleetOf(cluster("a"), rollout({ stages }));
  const found = rolloutHolds(fleet, operationsOf(fleet), everyMinute(60), { at: AT });
  assert.deepEqual(
    found.get("BeforeClusterUpgrade team-a/a")?.map(({ at, held }) => [at, held?.hold.reason]),
    [
      [AT, "GateOpen"],
      [minutes(10), undefined],
      [minutes(20), "GateOpen"],
    ],
  );
});

test("too many edges for the operations end the simulation", () => {
  const fleet = fleetOf(cluster("a"));
  const [operation] = operationsOf(fleet);
  assert.ok(operation !== undefined);
  const many = Array.from({ length: 1_000_000 }, () => operation);
  assert.deepEqual(rolloutHolds(fleet, many, everyMinute(20), { at: AT }), new Map());
  const message =
    "stages of HookRollouts open and close too often for 1000000 operations: choose a time that ends before 2026-11-21T12:20:00Z";
  assert.throws(() => rolloutHolds(fleet, many, everyMinute(21), { at: AT }), new TooManyChanges(message));
  assert.ok(
    new TooManyChanges(message) instanceof UsageError,
    "exit code 1 means changes that --fail-on names",
  );
});

test("only overrides that lift a rollout for one of its Clusters make edges", () => {
  const fleet = fleetOf(
    ...["team-a", "team-b"].map(rawNamespace),
    cluster("a"),
    cluster("b", "team-b"),
    rollout({ namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "team-a" } } }),
    override("all", 1, {}),
    override("named", 2, { policyRefs: [{ kind: "HookRollout", name: "upgrades" }] }),
    override("of-a-policy", 3, { policyRefs: [{ kind: "HookPolicy", namespace: "team-a", name: "freeze" }] }),
    override("of-another-hook", 4, { hooks: ["BeforeClusterDelete"] }),
    override("of-no-member", 5, { clusterRef: { namespace: "team-b", name: "b" } }),
    override("of-no-cluster", 6, { clusterRef: { namespace: "team-a", name: "gone" } }),
  );
  const edges = [...rolloutEdges(fleet, { from: AT, to: minutes(60), lookAgainMs: 60_000 })];
  assert.deepEqual(edges, [AT, minutes(1), minutes(2)]);
});
