/** One view of a Cluster, whichever version and whichever way it came. */

import assert from "node:assert/strict";
import test from "node:test";
import { compileExpression } from "../../../src/policy/cel/expression.ts";
import { asRequested, viewCluster } from "../../../src/views/cluster.ts";
import { newerThan } from "../../../src/views/versions.ts";
import { cluster } from "../builders.ts";

const metadata = { name: "prod-1", namespace: "team-a", uid: "u", resourceVersion: "7" };
const condition = {
  type: "Available",
  status: "True",
  reason: "Available",
  lastTransitionTime: "2026-11-21T09:00:00Z",
};

const V1BETA2 = {
  apiVersion: "cluster.x-k8s.io/v1beta2",
  metadata,
  spec: {
    topology: {
      classRef: { name: "lab" },
      version: "v1.34.0",
      variables: [{ name: "n", value: { a: [1] } }],
    },
  },
  status: {
    phase: "Provisioned",
    initialization: { infrastructureProvisioned: true, controlPlaneInitialized: false },
    conditions: [{ ...condition, message: "long", observedGeneration: 1 }],
    deprecated: { v1beta1: { conditions: [{ type: "Ready", status: "False" }] } },
  },
};

const V1BETA1 = {
  apiVersion: "cluster.x-k8s.io/v1beta1",
  metadata,
  spec: {
    topology: {
      class: "lab",
      version: "v1.34.0",
      variables: [
        { name: "n", value: { a: [1] } },
        { name: "n", value: "patched", definitionFrom: "extension" },
      ],
    },
  },
  status: {
    phase: "Provisioned",
    infrastructureReady: true,
    controlPlaneReady: false,
    conditions: [{ type: "Ready", status: "False", lastTransitionTime: "2026-11-21T09:00:00Z" }],
    v1beta2: { conditions: [{ ...condition, message: "long" }] },
  },
};

test("v1beta1 and v1beta2 of a Cluster give the same view", () => {
  const view = viewCluster(V1BETA2);
  assert.deepEqual(viewCluster(V1BETA1), view);
  assert.deepEqual(view.topology, { className: "lab", version: "v1.34.0", variables: '{"n":{"a":[1]}}' });
  assert.deepEqual(view.status, {
    phase: "Provisioned",
    conditions: [condition],
    initialization: { infrastructureProvisioned: true, controlPlaneInitialized: false },
  });
});

test("v1beta1 without the new conditions has the old ones, some without a reason", () => {
  const { v1beta2: _, ...status } = V1BETA1.status;
  assert.deepEqual(viewCluster({ ...V1BETA1, status }).status?.conditions, [
    { type: "Ready", status: "False", reason: "", lastTransitionTime: "2026-11-21T09:00:00Z" },
  ]);
});

test("a Cluster without a status has an empty one", () => {
  assert.deepEqual(viewCluster({ metadata }).status, { conditions: [], initialization: {} });
});

const WORKERS = {
  machineDeployments: [
    { class: "w", name: "md-0", version: "v1.33.0" },
    { class: "w", name: "md-1" },
    { name: "md-2", version: 5 },
    null,
  ],
  machinePools: [{ name: "mp-0", version: "v1.33.1" }],
};
const PINNED = { ...V1BETA2, spec: { topology: { ...V1BETA2.spec.topology, workers: WORKERS } } };

test("workers that are pinned are in the view, for expressions, too; and so are the versions of all workers", () => {
  const workers = { versions: [{ version: "v1.33.0" }, { version: "v1.34.0" }] };
  const view = viewCluster({ ...PINNED, status: { ...PINNED.status, workers } });
  assert.deepEqual(view.topology?.pinnedWorkers, [
    { kind: "MachineDeployment", name: "md-0", version: "v1.33.0" },
    { kind: "MachinePool", name: "mp-0", version: "v1.33.1" },
  ]);
  assert.deepEqual(view.progress?.workersVersions, ["v1.33.0", "v1.34.0"]);
  const evaluated = (source: string, of = view): unknown =>
    compileExpression(source, "gate").expression?.evaluate({ cluster: of, now: new Date() });
  const source = "cluster.topology.pinnedWorkers.exists(w, w.name == 'md-0' && w.version == 'v1.33.0')";
  assert.deepEqual(evaluated(source), { ok: true, value: true });
  assert.deepEqual(evaluated(source, viewCluster(V1BETA2)), { ok: true, value: false });
});

test("what is of another type is left out", () => {
  const view = viewCluster({
    metadata,
    spec: {
      topology: { class: 5, version: "v1.34.0", variables: [{ name: 5, value: 1 }, { name: "a" }, null] },
    },
    status: {
      phase: 5,
      conditions: [null, { type: "A" }, "x"],
      initialization: { controlPlaneInitialized: "yes" },
    },
  });
  assert.deepEqual(view.topology, { className: "", version: "v1.34.0" });
  assert.deepEqual(view.status, { conditions: [], initialization: {} });
});

test("variables with the names of JavaScript's own properties are variables", () => {
  const variables = ["__proto__", "constructor"].map((name) => ({ name, value: name }));
  const { topology } = viewCluster({
    metadata,
    spec: { topology: { class: "lab", version: "v1", variables } },
  });
  assert.deepEqual(Object.entries(JSON.parse(topology?.variables ?? "")).toReversed(), [
    ["__proto__", "__proto__"],
    ["constructor", "constructor"],
  ]);
});

const status = { phase: "Provisioned", conditions: [condition], initialization: {} };
const CLEARED = { conditions: [], initialization: { controlPlaneInitialized: false } };
const at = (resourceVersion: string, rest = {}): ReturnType<typeof cluster> =>
  cluster({ resourceVersion, annotations: { from: resourceVersion } }, rest);

test("the status of a request is ignored", () => {
  const { status: _, ...bare } = at("99");
  assert.deepEqual(asRequested({ ...at("99", { status: CLEARED }), progress: { plan: [] } }), bare);
});

test("resource versions that are no numbers do not compare, so that what was read stays", () => {
  const live = at("abc", { status });
  assert.equal(newerThan(live, at("101")), live);
});

test("of a live read and memory the newer copy counts as a whole", () => {
  const live = at("100", { status: CLEARED });
  const later = at("101", { status });
  assert.equal(newerThan(live, later), later);
  assert.equal(newerThan(live, at("99", { status })), live);
  assert.equal(newerThan(live, undefined), live);
  assert.equal(newerThan(live, cluster({ uid: "another", resourceVersion: "999" })), live);
});

test("variables that nest too deeply to be looked at fail what looks at them, and nothing else", () => {
  const value: unknown = JSON.parse(`${"[".repeat(100_000)}${"]".repeat(100_000)}`);
  const { topology, ...rest } = viewCluster({
    ...V1BETA2,
    spec: { topology: { ...V1BETA2.spec.topology, variables: [{ name: "n", value }] } },
  });
  assert.equal(topology?.version, "v1.34.0");
  const looks = (source: string): boolean | undefined =>
    compileExpression(source, "gate").expression?.evaluate({
      cluster: { ...rest, topology },
      now: new Date(),
    }).ok;
  assert.equal(looks("!('x' in cluster.topology.variables)"), false);
  assert.equal(looks("cluster.topology.version == 'v1.34.0'"), true);
});
