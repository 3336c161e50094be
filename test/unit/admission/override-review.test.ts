import assert from "node:assert/strict";
import { test } from "node:test";
import type { HookOverrideSpec } from "../../../src/api/hook-policy.ts";
import type { AdmissionWorld } from "../../../src/admission/review-world.ts";
import { servedHooks } from "../../../src/api/hook-catalog.ts";
import { cluster, compiled, hookPolicy, rule } from "../builders.ts";
import { type Setup, hookOverride, webhook } from "./reviews.ts";

const protect = compiled(hookPolicy({ rules: [rule()] }));
const WORLD: Partial<AdmissionWorld> = {
  cluster: (namespace, name) => (`${namespace}/${name}` === "team-a/prod-1" ? cluster() : undefined),
  policy: (kind, namespace, name) =>
    `${kind} ${namespace}/${name}` === "HookPolicy team-a/protect" ? protect : undefined,
  hasRollout: (name) => name === "upgrades",
};

async function warningsOf(
  spec: Partial<HookOverrideSpec>,
  given: Setup = { world: WORLD },
): Promise<readonly string[]> {
  const { allowed, warnings = [] } = await webhook(given).create(hookOverride(spec));
  assert.equal(allowed, true, "an override is never refused");
  return warnings;
}

const PROTECT = { kind: "HookPolicy", namespace: "team-a", name: "protect" } as const;

test("an override that works is admitted without a word", async () => {
  assert.deepEqual(await warningsOf({ policyRefs: [PROTECT] }), []);
  assert.deepEqual(
    await warningsOf({ clusterRef: { namespace: "team-a", name: "prod-1", uid: "uid-prod-1" } }),
    [],
  );
});

test("a null where policies could be named names none, as for the API server", async () => {
  assert.deepEqual(await warningsOf({ policyRefs: null as never }), []);
});

test("a HookRollout that does not exist is a warning", async () => {
  const rollouts = ["upgrades", "upgrade"].map((name) => ({ kind: "HookRollout", name }) as const);
  assert.deepEqual(await warningsOf({ policyRefs: rollouts }), [
    "spec.policyRefs[1]: there is no HookRollout upgrade",
  ]);
});

test("a Cluster or policy that does not exist is a warning, once that is known", async () => {
  const nowhere = {
    clusterRef: { namespace: "team-b", name: "prod-1" },
    policyRefs: [PROTECT, { kind: "ClusterHookPolicy", name: "freeze" } as const],
  };
  assert.deepEqual(await warningsOf(nowhere), [
    "spec.clusterRef: there is no Cluster team-b/prod-1",
    "spec.policyRefs[1]: there is no ClusterHookPolicy freeze",
  ]);
  assert.deepEqual(await warningsOf(nowhere, { world: { ...WORLD, loaded: () => false } }), []);
});

test("the uid of another Cluster is a warning", async () => {
  const [warning] = await warningsOf({ clusterRef: { namespace: "team-a", name: "prod-1", uid: "gone" } });
  assert.match(warning ?? "", /^spec\.clusterRef\.uid: Cluster team-a\/prod-1 has another uid: /);
});

test("an end that has passed, and one that is too far away, are warnings", async () => {
  assert.match(
    (await warningsOf({ expiresAt: "2026-11-21T12:00:00Z" })).join(),
    /^spec\.expiresAt: has passed already/,
  );
  assert.match(
    (await warningsOf({ expiresAt: "2026-11-28T12:00:01Z" })).join(),
    /^spec\.expiresAt: lasts longer than 168h .*--max-override-duration/,
  );
  const { creationTimestamp: _, ...metadata } = hookOverride().metadata;
  const { warnings } = await webhook({ world: WORLD }).create({
    ...hookOverride({ expiresAt: "2026-11-28T12:00:00Z" }),
    metadata,
  });
  assert.equal(warnings, undefined, "a new one is created now");
});

test("a hook that Cluster API does not wait for is a warning", async () => {
  const warnings = await warningsOf(
    { hooks: ["BeforeClusterDelete", "AfterClusterUpgrade"] },
    { world: WORLD, served: servedHooks(10) },
  );
  assert.match(warnings.join(), /^spec\.hooks\[1\]: Cluster API 1\.10 does not wait for AfterClusterUpgrade/);
});

test("an override that this version does not understand is a warning", async () => {
  const [warning] = await warningsOf({ ticket: "42" } as object);
  assert.match(warning ?? "", /^spec\.ticket: /);
});

test("ending an override is no reason to warn, unless it never had an effect", async () => {
  const before = hookOverride();
  const nowhere = { clusterRef: { namespace: "team-a", name: "gone" } };
  for (const expiresAt of ["2026-11-21T11:59:59Z", "2026-11-21T12:00:01Z"]) {
    const { update } = webhook({ world: WORLD });
    const ended = hookOverride({ expiresAt });
    assert.equal((await update(before, ended)).warnings, undefined, expiresAt);
    // The Cluster that it has released is gone.
    assert.equal(
      (await update(hookOverride(nowhere), hookOverride({ ...nowhere, expiresAt }))).warnings,
      undefined,
    );
  }
  const long = { ...hookOverride({ expiresAt: "2027-11-21T12:00:00Z" }) };
  const shorter = hookOverride({ expiresAt: "2027-10-21T12:00:00Z" });
  const { warnings = [] } = await webhook({ world: WORLD }).update(long, shorter);
  assert.match(warnings.join(), /^spec\.expiresAt: lasts longer than 168h/);
});
