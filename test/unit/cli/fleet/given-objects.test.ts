/** What is unclear about the objects of files makes only those gates hold whose answer depends on it. */

import assert from "node:assert/strict";
import test from "node:test";
import { Fleet } from "../../../../src/cli/fleet/fleet.ts";
import { objectReader } from "../../../../src/cli/fleet/given-objects.ts";
import type { RawObject } from "../../../../src/cli/fleet/kinds.ts";
import type { PolicyKind } from "../../../../src/policy/policy-ref.ts";
import { decide } from "../../../../src/policy/decide.ts";
import { ALL_HOOKS, NOW } from "../../builders.ts";
import { DELETE, policy as protecting, runSteps } from "../suite/suites.ts";
import { RAW_POLICIES, rawCluster, rawNamespace } from "../raw.ts";

const CLUSTER = { ...rawCluster(), spec: { topology: { classRef: { name: "lab" }, version: "v1.34.0" } } };
const NAMESPACE = rawNamespace();

const policy = (kind: PolicyKind, object: object): RawObject =>
  RAW_POLICIES[kind]("looking", {
    failurePolicy: "Ignore",
    rules: [{ name: "held", hooks: ["BeforeClusterDelete"], until: [{ name: "looks", object }] }],
  });

/** Of the policies in the order of the operator: those of all namespaces first. */
function verdicts(objects: readonly RawObject[]): readonly string[] {
  const options = { served: ALL_HOOKS, maxOverrideMs: 0, now: NOW, complete: true };
  const fleet = new Fleet([CLUSTER, NAMESPACE, ...objects], options);
  const cluster = fleet.cluster("team-a", "prod-1") ?? assert.fail("no Cluster");
  const call = { hook: "BeforeClusterDelete" } as const;
  const { trace } = decide(fleet.policiesFor(cluster), fleet.world(cluster), call, NOW);
  return trace.flatMap(({ rules }) =>
    rules.map(({ verdict, gates }) => gates.find(({ met }) => met !== true)?.reason ?? verdict),
  );
}

test("an object without its Namespace is unclear only for gates that may select its namespace", () => {
  const maps = { apiVersion: "v1", kind: "ConfigMap" };
  const freeze = {
    ...maps,
    selector: { matchLabels: { freeze: "true" } },
    namespaceSelector: {},
    absent: true,
  };
  const approval = { ...maps, metadata: { namespace: "team-a", name: "approval" } };
  const lost = { ...maps, metadata: { namespace: "legacy", name: "x", labels: { freeze: "true" } } };
  const both = [
    policy("ClusterHookPolicy", freeze),
    policy("HookPolicy", { ...maps, name: "approval" }),
    approval,
  ];
  assert.deepEqual(verdicts([...both, lost]), ["ObjectsUnclear", "Allowed"]);
  assert.deepEqual(verdicts(both), ["Allowed", "Allowed"]);
});

test("an object of another version is unclear only for gates that read it", () => {
  const expression = "object.status.phase == 'Done'";
  const gate = { apiVersion: "velero.io/v1", kind: "Backup", expression };
  const backup = (namespace: string, name: string, apiVersion = gate.apiVersion): RawObject => ({
    apiVersion,
    kind: "Backup",
    metadata: { namespace, name },
    status: { phase: "Done" },
  });
  const good = backup("team-a", "good");
  const any = policy("HookPolicy", { ...gate, selector: {} });
  assert.deepEqual(verdicts([any, good, backup("team-b", "old", "velero.io/v1beta1")]), ["Allowed"]);
  const beside = backup("team-a", "old", "velero.io/v1beta1");
  assert.deepEqual(verdicts([any, good, beside]), ["ObjectsUnclear"]);
  const computed = policy("HookPolicy", { ...gate, nameExpression: "'good'" });
  assert.deepEqual(verdicts([computed, good, beside]), ["Allowed"]);
});

test("what is unclear holds in a suite, too", async () => {
  const object = { apiVersion: "velero.io/v1", kind: "Backup", name: "b", expression: "has(object.status)" };
  const older = {
    apiVersion: "velero.io/v1beta1",
    kind: "Backup",
    metadata: { namespace: "team-a", name: "b" },
    status: {},
  };
  const [step] = await runSteps({
    policies: [protecting([{ name: "looks", object }])],
    objects: [older],
    steps: [{ call: DELETE, expect: { verdict: "NotEvaluable" } }],
  });
  assert.equal(step?.status, "passed", JSON.stringify(step));
});

test("objects are sorted by kind once, and only when a gate looks for some", () => {
  let reads = 0;
  const object = {
    apiVersion: "v1",
    get kind() {
      reads += 1;
      return "ConfigMap";
    },
    metadata: { namespace: "team-a", name: "ok" },
  };
  const reader = objectReader([object], () => undefined, true);
  assert.equal(reads, 0);
  const found = reader.find({ apiVersion: "v1", kind: "ConfigMap" }, "team-a");
  assert.equal(found.ok && found.objects.length, 1);
  const first = reads;
  reader.find({ apiVersion: "v1", kind: "ConfigMap" }, "team-a");
  assert.equal(reads, first);
});
