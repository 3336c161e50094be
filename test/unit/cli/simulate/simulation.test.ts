/** Clusters that nothing tells apart are followed once: what is said of each is the same as if it were alone. */

import assert from "node:assert/strict";
import test from "node:test";
import { servedHooks } from "../../../../src/api/hook-catalog.ts";
import { fleetPair } from "../../../../src/cli/simulate/changed-fleet.ts";
import type { SimulatedChange } from "../../../../src/cli/simulate/change.ts";
import { simulate } from "../../../../src/cli/simulate/simulation.ts";
import { rawCluster, rawFleetPolicy, rawNamespace, rawOverride } from "../raw.ts";

const FROM = new Date("2026-11-21T12:00:00Z");
const TO = new Date("2026-11-26T12:00:00Z");
const served = servedHooks(12);

const ok = { key: "example.com/ok", valueFrom: "ClusterUID" };
/** Open at the beginning. */
const noon = (duration: string): object => ({
  name: "noon",
  window: { timeZone: "Europe/Berlin", allow: [{ schedule: "0 11 * * *", duration }] },
});
const night = (duration: string): object => ({
  name: "night",
  window: { timeZone: "Europe/Berlin", allow: [{ schedule: "0 22 * * *", duration }] },
});
const HOOKS = ["BeforeClusterUpgrade", "BeforeClusterDelete"];

const policy = (name: string, until: readonly object[], over: object = {}): Record<string, unknown> =>
  rawFleetPolicy(
    { name, uid: `uid-of-${name}` },
    { rules: [{ name: "rule", hooks: HOOKS, until, ...over }] },
  );

const older = {
  name: "old",
  expression: "now - timestamp(cluster.metadata.creationTimestamp) > duration('72h')",
};
const weekday = { name: "weekday", expression: "now.getDayOfWeek('UTC') != 0" };
const policies = (duration: string): Record<string, unknown>[] => [
  policy("nights", [night("8h"), { name: "soak", wait: { duration } }]),
  policy("signed", [{ name: "ok", annotation: ok }], { deadline: { after: duration, onExpiry: "Allow" } }),
  policy("either", [{ name: "any", anyOf: [{ name: "ok", label: { key: "ok" } }, noon(duration)] }]),
  policy("aged", [
    duration === "4h" ? older : { ...older, expression: older.expression.replace("72", "48") },
  ]),
  policy("days", [night(duration)], { matchConditions: [weekday] }),
  policy("named", [night(duration)], {
    matchConditions: [{ name: "even", expression: "cluster.metadata.name.endsWith('2')" }],
  }),
];

interface Traits {
  readonly labels?: object;
  readonly annotations?: object;
  readonly created?: string;
  readonly deleted?: string;
}

function cluster(
  name: string,
  { labels = {}, annotations = {}, created = "2026-01-01", deleted }: Traits,
): Record<string, unknown> {
  return rawCluster({
    namespace: name.startsWith("a") ? "team-a" : "team-b",
    name,
    uid: `uid-${name}`,
    labels,
    annotations,
    creationTimestamp: `${created}T00:00:00Z`,
    ...(deleted !== undefined && { deletionTimestamp: deleted }),
  });
}

const approved = (name: string): Traits => ({ annotations: { "example.com/ok": `uid-${name}` } });
const TRAITS: Readonly<Record<string, Traits>> = {
  a1: {},
  a2: {},
  a3: approved("a3"),
  a4: approved("a4"),
  a5: approved("a1"),
  b1: {},
  b2: { labels: { ok: "yes" } },
  b3: { labels: { ok: "no" } },
  b4: { created: "2026-11-20" },
  b5: { created: "2026-11-20" },
  b6: { created: "2026-11-21" },
  b7: { deleted: "2026-11-21T10:00:00Z" },
};
const CLUSTERS = Object.entries(TRAITS).map(([name, traits]) => cluster(name, traits));
const NAMESPACES = ["team-a", "team-b"].map((name) => rawNamespace(name));
const OVERRIDE = rawOverride(
  { name: "a2", creationTimestamp: "2026-11-21T11:00:00Z" },
  { clusterRef: { namespace: "team-a", name: "a2" }, hooks: HOOKS, expiresAt: "2026-11-23T12:00:00Z" },
);

async function changesOf(
  clusters: readonly Record<string, unknown>[],
  among: (policy: Record<string, unknown>, index: number) => boolean,
): Promise<readonly SimulatedChange[]> {
  const fleet = [...NAMESPACES, OVERRIDE, ...clusters, ...policies("4h").filter(among)];
  const pair = fleetPair(fleet, policies("6h").filter(among), {
    served,
    maxOverrideMs: 168 * 3_600_000,
    now: FROM,
    prune: false,
  });
  const { changes } = await simulate(pair, { hooks: [...served.advertised], from: FROM, to: TO });
  return changes;
}

async function sameAsAlone(
  among: (policy: Record<string, unknown>, index: number) => boolean,
): Promise<void> {
  const together = await changesOf(CLUSTERS, among);
  assert.ok(together.length > 0);
  const alone = await Promise.all(CLUSTERS.map(async (each) => await changesOf([each], among)));
  assert.deepEqual(together, alone.flat());
}

test("of each Cluster the same is said among others as alone, down to the message", async () => {
  await sameAsAlone(() => true);
});

for (const index of policies("4h").keys()) {
  test(`of each Cluster policy ${index} says the same among others as alone`, async () => {
    await sameAsAlone((_, each) => each === index);
  });
}

test("a message counts a wait from the instant at which it began", async () => {
  const [first] = await changesOf(CLUSTERS, (_, index) => index === 0);
  assert.equal(first?.from.toISOString(), "2026-11-22T01:00:00.000Z");
  assert.deepEqual([first.before.verdict, first.before.message], ["Allowed", ""]);
  assert.match(first.after.message, /6h to pass \(at 2026-11-22T03:00:00Z\)/);
});
