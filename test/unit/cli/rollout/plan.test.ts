/** What `hookpolicy rollout plan` says besides the times: pauses, Clusters that it leaves out, and what cannot be so. */

import assert from "node:assert/strict";
import test from "node:test";
import { clusterOf, FLEET, plan, rolloutOf } from "./planned-fleet.ts";

test("names the weekend that follows a freeze", async (t) => {
  const held = (name: string, window: object): object => ({
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookPolicy",
    metadata: { namespace: "fleet", name },
    spec: { rules: [{ name, hooks: ["BeforeClusterUpgrade"], until: [{ name, window }] }] },
  });
  const { stdout } = await plan(t, [
    ...FLEET,
    rolloutOf("upgrades"),
    held("freeze", { timeZone: "UTC", deny: [{ from: "2026-12-01", to: "2026-12-03" }] }),
    held("weekend", { timeZone: "UTC", allow: [{ schedule: "0 0 * * TUE,SAT", duration: "24h" }] }),
  ]);
  assert.match(
    stdout,
    /^From 2026-12-01T08:00Z to 2026-12-05T00:00Z, 1 Cluster could have a slot and waits for HookPolicy fleet\/freeze, rule freeze, gate freeze; then HookPolicy fleet\/weekend, rule weekend, gate weekend$/m,
  );
});

test("names every Cluster that it leaves out", async (t) => {
  const [canary] = [{ name: "canary", clusterSelector: { matchLabels: { wave: "canary" } } }];
  const outside = { ...clusterOf("out", "none"), metadata: { namespace: "other", name: "out" } };
  const plain = { ...clusterOf("plain", "canary"), spec: {} };
  const only = { namespaceSelector: { matchLabels: { "kubernetes.io/metadata.name": "fleet" } } };
  const other = { apiVersion: "v1", kind: "Namespace", metadata: { name: "other" } };
  const objects = [...FLEET, outside, other, plain, rolloutOf("upgrades", { ...only, stages: [canary] })];
  const { stdout } = await plan(t, objects);
  assert.match(stdout, /^The last of 1 Cluster that begin is done at .*; 1 other does not begin\.$/m);
  assert.match(stdout, /^1 Cluster that no stage selects never begin: fleet\/a$/m);
  assert.match(stdout, /^1 Cluster in no upgrade rollout, which begin without a slot: other\/out$/m);
  assert.match(
    stdout,
    /^1 Cluster without spec\.topology, about which Cluster API asks nothing: fleet\/plain$/m,
  );
});

test("says what cannot be so: the duration, and versions that Cluster API refuses", async (t) => {
  const objects = [...FLEET, rolloutOf("upgrades", { progressDeadline: "30m" })];
  const { stdout } = await plan(t, objects, "--to-version", "v1.33.0");
  assert.match(stdout, /^40m is longer than progressDeadline, 30m: each Cluster would count as failed/m);
  assert.match(
    stdout,
    /^2 Clusters would go to a lower version, which Cluster API refuses: fleet\/a, fleet\/b\.$/m,
  );
  const far = await plan(t, objects, "--to-version", "v1.36.0");
  assert.match(far.stdout, /^2 Clusters would skip a minor version, which Cluster API refuses unless /m);
  const same = await plan(t, objects, "--to-version", "v1.34.0");
  assert.match(same.stdout, /^v1\.34\.0 is the version of 2 Clusters already, so no upgrade begins there: /m);
  const next = await plan(t, objects, "--to-version", "v1.35.0");
  assert.doesNotMatch(next.stdout, /Cluster API refuses|already/);
});
