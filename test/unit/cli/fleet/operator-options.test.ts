/** Commands that look at an API server decide as the operator there does, whose flags are in its Deployment. */

import assert from "node:assert/strict";
import { join } from "node:path";
import test from "node:test";
import { answering, FORBIDDEN, SERVES_CLUSTERS } from "../api-server.ts";
import { folder } from "../program.ts";
import { hookpolicy } from "../resident.ts";

const list = (...items: readonly object[]): object => ({ metadata: { resourceVersion: "1" }, items });
const VERSION = "cluster.x-k8s.io/v1beta2";
const OWN = "/apis/hookpolicy.dev/v1alpha1";
const CLUSTER = {
  apiVersion: VERSION,
  kind: "Cluster",
  metadata: { namespace: "a", name: "b", uid: "uid-b", resourceVersion: "1" },
  spec: { topology: { classRef: { name: "lab" }, version: "v1.35.0" } },
};
const POLICY = {
  apiVersion: "hookpolicy.dev/v1alpha1",
  kind: "HookPolicy",
  metadata: { namespace: "a", name: "p", uid: "p", resourceVersion: "1", generation: 1 },
  spec: {
    rules: [
      {
        name: "r",
        hooks: ["AfterClusterUpgrade"],
        until: [{ name: "ok", annotation: { key: "example.com/ok" } }],
      },
    ],
  },
};

const deployed = (...args: readonly string[]): object =>
  list({
    metadata: { namespace: "s", name: "d", labels: { "app.kubernetes.io/name": "hookpolicy" } },
    spec: { template: { spec: { containers: [{ args }] } } },
  });

async function ran(t: test.TestContext, deployments: object, ...args: readonly string[]) {
  const clusters = `GET /apis/${VERSION}/namespaces/a/clusters`;
  const { kubeconfig } = await answering(t, {
    ...SERVES_CLUSTERS,
    "GET /apis/apps/v1/deployments": deployments,
    [clusters]: list(CLUSTER),
    [`GET /apis/${VERSION}/clusters`]: list(CLUSTER),
    [`${clusters}/b`]: CLUSTER,
    "GET /api/v1/namespaces": list({ metadata: { name: "a", uid: "n", resourceVersion: "1" } }),
    "GET /api/v1/namespaces/a": { metadata: { name: "a", uid: "n", resourceVersion: "1" } },
    [`GET ${OWN}/namespaces/a/hookpolicies`]: list(POLICY),
    [`GET ${OWN}/hookpolicies`]: list(POLICY),
    [`GET ${OWN}/clusterhookpolicies`]: list(),
    [`GET ${OWN}/hookrollouts`]: list(),
    [`GET ${OWN}/hookoverrides`]: list(),
  });
  const { stdout, stderr } = await hookpolicy([...args, "--kubeconfig", kubeconfig]);
  return stdout + stderr;
}

const EXPLAIN = ["explain", "a/b", "--hook", "AfterClusterUpgrade"];
const NOTE = /you may not list deployments\.apps, .*: this is for Cluster API 1\.14/;

test("explain decides for the Cluster API that the operator is told of", async (t) => {
  assert.match(await ran(t, deployed("run"), ...EXPLAIN), /^Blocked: /);
  assert.match(await ran(t, deployed("run", "--capi-version=1.11"), ...EXPLAIN), /^Allowed: /);
  assert.match(
    await ran(t, deployed("--capi-version=1.11"), ...EXPLAIN, "--capi-version", "1.12"),
    /^Blocked: /,
  );
  assert.match(await ran(t, deployed("--capi-version=of mine"), ...EXPLAIN), /^Blocked: /);
  assert.match(
    await ran(t, deployed("--capi-version=1.11"), "explain", "a/b", "--hook", "BeforeWorkersUpgrade"),
    /^error: Cluster API 1\.11 does not call BeforeWorkersUpgrade/,
  );
});

test("explain says that it may not read the flag only where the answer depends on it", async (t) => {
  assert.match(await ran(t, FORBIDDEN, ...EXPLAIN), NOTE);
  assert.doesNotMatch(await ran(t, FORBIDDEN, ...EXPLAIN, "--capi-version", "1.13"), NOTE);
  assert.doesNotMatch(await ran(t, deployed("run"), ...EXPLAIN), NOTE);
  assert.doesNotMatch(await ran(t, FORBIDDEN, "explain", "a/b", "--hook", "BeforeClusterDelete"), NOTE);
  assert.doesNotMatch(await ran(t, FORBIDDEN, "explain", "a/b"), /deployments/);
});

test("simulate compares the hooks that the operator offers", async (t) => {
  const dir = await folder(t, {
    "p.json": JSON.stringify({ ...POLICY, spec: { ...POLICY.spec, mode: "Audit" } }),
  });
  const simulate = ["simulate", "-f", join(dir, "p.json"), "--against", "live"];
  assert.match(await ran(t, deployed(), ...simulate), /AfterClusterUpgrade/);
  assert.doesNotMatch(await ran(t, deployed("--capi-version=1.11"), ...simulate), /newly-allowed/i);
});

test("override creates none that is longer than the operator accepts, and longer ones where it does", async (t) => {
  const hours = (text: string): string[] => [
    "--hook",
    "BeforeClusterDelete",
    "--reason",
    "INC-1",
    "--for",
    text,
  ];
  const overridden = async (text: string, ...flags: readonly string[]): Promise<string> =>
    await ran(t, deployed(...flags), "override", "a/b", ...hours(text), "--dry-run");
  assert.match(
    await overridden("25h", "--max-override-duration=24h"),
    /A HookOverride of more than 24h has no effect \(--max-override-duration of the operator\)/,
  );
  assert.match(await overridden("168h1s"), /of more than 168h has no effect/);
  assert.match(await overridden("300h", "--max-override-duration", "720h"), /kind: HookOverride/);
  const unread = await ran(t, FORBIDDEN, "override", "a/b", ...hours("300h"), "--dry-run");
  assert.match(unread, /^warning: you may not list deployments\.apps: .* more than 168h/m);
  assert.match(unread, /kind: HookOverride/);
});
