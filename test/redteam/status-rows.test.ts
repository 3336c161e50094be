/** Status is output: what somebody who may write the status of a HookPolicy tries with it. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import type { DecisionRow } from "../../src/api/hook-policy.ts";
import { type Cluster, PENDING_HOOKS_ANNOTATION } from "../../src/api/meta.ts";
import type { HookCall } from "../../src/api/runtime-hooks.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import {
  APPROVED,
  at,
  cluster,
  clusterHookPolicy,
  gated,
  heldAt,
  hookPolicy,
  rule,
} from "../unit/builders.ts";
import { Operators } from "./operators.ts";

const CREATE: HookCall = { hook: "BeforeClusterCreate" };
const creating = cluster({}, { created: false });
const waits = {
  hooks: ["BeforeClusterCreate" as const],
  until: [{ name: "soak", wait: { duration: "1h" } }],
};
const tenants = gated([{ name: "approved", annotation: { key: APPROVED } }], {
  hooks: ["BeforeClusterCreate"],
});
const LONG_AGO = at("-24h").toISOString();

const row = (over: Partial<DecisionRow> = {}): DecisionRow => ({
  namespace: "team-a",
  cluster: "prod-1",
  clusterUID: "uid-prod-1",
  hook: "BeforeClusterCreate",
  rule: "confirmed-delete",
  verdict: "Blocked",
  reason: "WaitingForAnnotation",
  message: "\u2026",
  firstAsked: LONG_AGO,
  since: LONG_AGO,
  timers: [{ rule: "confirmed-delete", blockedSince: LONG_AGO, gatesMetSince: LONG_AGO }],
  ...over,
});
const says = (...decisions: DecisionRow[]) => ({ observedGeneration: 1, decisions });

/** A tenant writes the row before anybody asks; what Cluster API is told. */
async function heldBeside(other: PolicyObject, decision = row(), on: Cluster = creating): Promise<boolean> {
  const allowing = hookPolicy({ ...tenants.spec, mode: "Audit" } as object);
  const operators = new Operators({ policies: [allowing, other], clusters: [] });
  operators.writeStatus(allowing, says(decision));
  operators.set(on);
  operators.writeStatus(allowing, says(decision));
  return (await operators.ask(0, { ...CREATE, hook: decision.hook }, on)).retryAfterSeconds !== 0;
}

describe("a row in the status of a tenant's HookPolicy", () => {
  test("moves no clock of a ClusterHookPolicy", async () => {
    assert.ok(await heldBeside(clusterHookPolicy({ rules: [rule(waits)] })));
  });

  test("moves no clock of another HookPolicy", async () => {
    const other = hookPolicy({ rules: [rule(waits)] }, { name: "other", uid: "uid-other" });
    assert.ok(await heldBeside(other));
  });

  test("starts no deadline of a ClusterHookPolicy while the Cluster does not show that it is asked about", async () => {
    const hooks = ["AfterClusterUpgrade" as const];
    const upgraded = cluster({ annotations: { [PENDING_HOOKS_ANNOTATION]: "AfterClusterUpgrade" } });
    const deadline = { after: "1h", onExpiry: "Allow" as const };
    const until = [{ name: "approved", annotation: { key: APPROVED } }];
    const fleet = clusterHookPolicy({ rules: [rule({ hooks, until, deadline })] });
    const own = gated(until, { hooks });
    const operators = new Operators({ policies: [own, fleet], clusters: [upgraded] });
    operators.writeStatus(own, says(row({ hook: "AfterClusterUpgrade", targetVersion: "v1.34.0" })));
    operators.passTo(at("+2h"));
    operators.settle();
    assert.equal(operators.statusOf(fleet)?.decisions, undefined);
    const real = heldAt("AfterClusterUpgrade", upgraded);
    operators.set(real);
    operators.settle();
    const [shown] = operators.statusOf(fleet)?.decisions ?? [];
    assert.equal(shown?.timers?.[0]?.blockedSince, "2026-11-21T14:00:00Z");
    assert.equal(shown.firstAsked, "2026-11-21T14:00:00Z");
  });

  test("counts for Clusters of its own namespace only", () => {
    const elsewhere = hookPolicy({ rules: tenants.spec.rules }, { namespace: "team-b", uid: "uid-b" });
    const operators = new Operators({ policies: [elsewhere], clusters: [creating] });
    operators.writeStatus(elsewhere, says(row()));
    operators.settle();
    assert.equal(operators.statusOf(elsewhere)?.decisions, undefined);
    assert.deepEqual(operators.told, []);
  });

  test("counts for its own rules only", () => {
    const other = gated([{ name: "approved", annotation: { key: APPROVED } }]);
    const operators = new Operators({ policies: [other], clusters: [creating] });
    operators.writeStatus(other, says(row()));
    operators.settle();
    assert.equal(operators.statusOf(other)?.decisions, undefined);
  });

  test("about an upgrade that the Cluster has behind it is dropped", () => {
    const policy = gated([{ name: "approved", annotation: { key: APPROVED } }], {
      hooks: ["BeforeClusterUpgrade"],
    });
    const there = cluster({}, { progress: { reconciled: true, plan: [] } });
    const operators = new Operators({ policies: [policy], clusters: [there] });
    operators.writeStatus(policy, says(row({ hook: "BeforeClusterUpgrade", targetVersion: "v1.34.0" })));
    operators.settle();
    assert.equal(operators.statusOf(policy)?.decisions, undefined);
  });

  test("written by the operator itself counts after a restart, for its own policy", () => {
    const operators = new Operators({ policies: [tenants], clusters: [creating] });
    operators.writeStatus(tenants, says(row()));
    operators.settle();
    assert.equal(operators.statusOf(tenants)?.decisions?.[0]?.firstAsked, LONG_AGO.replace(".000Z", "Z"));
  });
});
