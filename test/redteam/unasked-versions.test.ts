/** A tenant changes the version while an upgrade runs, and Cluster API asks no hook: what is seen of it, and what is not gained. */

import assert from "node:assert/strict";
import test from "node:test";
import { type Cluster, PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import type { RecentResult } from "../../src/api/hook-policy.ts";
import { cluster, clusterHookPolicy, hookPolicy, rule, UPGRADE } from "../unit/builders.ts";
import { entryOf, type Fixture, statusOf, storeWith } from "../unit/memory/fixtures.ts";

const KEY = "example.com/version";
const until = [{ name: "version", annotation: { key: KEY, valueFrom: "TargetVersion" as const } }];
const spec = { rules: [rule({ hooks: ["BeforeClusterUpgrade"], until })] };
const own = hookPolicy(spec);
const platform = clusterHookPolicy(spec);

function running(version: string, marks = "AfterClusterUpgrade"): Cluster {
  const mark = marks === "" ? {} : { [PENDING_HOOKS_ANNOTATION]: marks };
  return cluster({ annotations: { [KEY]: "v1.35.0", ...mark } }, { topology: { className: "lab", version } });
}

/** The upgrade to v1.35.0 was approved, and runs. */
function begun(): Fixture {
  const fixture = storeWith({ policies: [own, platform], clusters: [running("v1.35.0", "")] });
  fixture.setCluster(running("v1.35.0"));
  return fixture;
}

const last = (fixture: Fixture, policy = platform): readonly (string | undefined)[] => {
  const [result] = entryOf(fixture, policy).recent;
  return [result?.verdict, result?.targetVersion];
};

test("every policy that holds the version says so, also if the Cluster is paused or changes back and forth", () => {
  for (const hidden of [{}, { paused: true }]) {
    const fixture = begun();
    fixture.setCluster({ ...running("v1.36.0"), ...hidden });
    for (const policy of [own, platform]) assert.deepEqual(last(fixture, policy), ["NotAsked", "v1.36.0"]);
    fixture.setCluster({ ...running("v1.35.0"), ...hidden });
    fixture.setCluster({ ...running("v1.37.0"), ...hidden });
    for (const policy of [own, platform]) assert.deepEqual(last(fixture, policy), ["NotAsked", "v1.37.0"]);
  }
});

test("a call for the version, which only a forger sends, is held and hides nothing", () => {
  const fixture = begun();
  const forged = { call: { ...UPGRADE, toKubernetesVersion: "v1.36.0" }, cluster: running("v1.36.0") };
  assert.equal(fixture.store.decider.ask(forged, fixture.clock.now).holds, true);
  fixture.setCluster(running("v1.36.0"));
  assert.deepEqual(last(fixture), ["NotAsked", "v1.36.0"]);
});

test("an approval that comes after the version does not make it asked about", () => {
  const fixture = begun();
  fixture.setCluster(running("v1.36.0"));
  const late = running("v1.36.0");
  const annotations = { ...late.metadata.annotations, [KEY]: "v1.36.0" };
  fixture.setCluster({ ...late, metadata: { ...late.metadata, annotations } });
  assert.deepEqual(last(fixture), ["NotAsked", "v1.36.0"]);
});

test("many versions fill no memory, and write no more than 32 results of a Cluster for a policy", () => {
  const fixture = begun();
  for (let patch = 0; patch < 100; patch += 1) fixture.setCluster(running(`v1.36.${patch}`));
  assert.equal(entryOf(fixture, platform).recorded.keys().length, 32);
  assert.equal(entryOf(fixture, platform).recent.length, 10);
});

test("a forged status of a tenant's policy accuses no Cluster, also after a restart", () => {
  const forged: RecentResult = {
    namespace: "team-a",
    cluster: "prod-1",
    clusterUID: "uid-prod-1",
    hook: "BeforeClusterUpgrade",
    targetVersion: "v1.30.0",
    verdict: "Allowed",
    time: "2026-11-21T11:00:00Z",
  };
  const { recent = [] } = statusOf(begun(), platform);
  const policies = [
    { ...own, status: { recent: [forged] } },
    { ...platform, status: { recent } },
  ];
  const fixture = storeWith({ policies, clusters: [running("v1.35.0")] });
  const NONE = [undefined, undefined];
  assert.deepEqual([last(fixture, own), last(fixture), fixture.events], [NONE, NONE, []]);
});
