/** HookOverride: what a Cluster may do although policies hold it, for how long, and who can see it. */

import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import type { GateSpec, HookOverrideSpec, RuleSpec } from "../../src/api/hook-policy.ts";
import type { Ref } from "../controlplane/client.ts";
import { clusterRef, createCluster } from "../controlplane/lab.ts";
import {
  applyPolicy,
  approvalRule,
  condition,
  conditionIs,
  eventAbout,
  policyRow,
  inSeconds,
  noRow,
  policyRef,
  resultOf,
  statusOf,
  storePolicy,
  storeOverride,
} from "../controlplane/policies.ts";
import { askedAgain, behindProxy, isCreated, isNotCreated, startFleet } from "./fleet.ts";

const HOOK = "BeforeClusterCreate";

const fleet = await startFleet();
const proxy = await behindProxy(fleet);
after(async () => {
  await fleet.cp.stop();
  await proxy.stop();
});

describe("a HookOverride", () => {
  async function override(name: string, spec: Partial<HookOverrideSpec> = {}): Promise<Ref> {
    const cluster = { namespace: name, name: "c1" };
    return await storeOverride(fleet.cp, name, { clusterRef: cluster, hooks: [HOOK], ...spec });
  }

  /** A Cluster that the policy "p" of the namespace holds before it is created. */
  async function held(namespace: string, rule: RuleSpec = approvalRule(HOOK)): Promise<Ref> {
    const ref = policyRef(namespace, "p");
    await applyPolicy(fleet.cp, ref, { rules: [rule] });
    await createCluster(fleet.cp, { namespace, name: "c1" });
    await policyRow(fleet.cp, ref, "c1", HOOK);
    return ref;
  }

  /** Cluster API asks no more: the hold is seen to come back before it has proceeded. */
  async function pause(namespace: string): Promise<void> {
    await fleet.cp.patch(clusterRef(namespace, "c1"), { spec: { paused: true } });
    await fleet.cp.waitFor("Cluster API to have paused", async () => {
      const { status } = await fleet.cp.get(clusterRef(namespace, "c1"));
      const conditions: { type: string; status: string }[] = status?.conditions ?? [];
      return conditions.some((each) => each.type === "Paused" && each.status === "True");
    });
  }

  async function retry(namespace: string): Promise<number> {
    const cluster = await fleet.cp.get(clusterRef(namespace, "c1"));
    return (await fleet.operator.ask(HOOK, { cluster })).retryAfterSeconds ?? -1;
  }

  describe("in force", { concurrency: true }, () => {
    test("lets its Cluster go at once, and everybody sees which and why", async () => {
      const { cp, operator } = fleet;
      const policy = await held("used");
      const ref = await override("used");
      await noRow(cp, policy, "c1", HOOK); // without a call
      await conditionIs(cp, ref, "Active", "Active");
      await isCreated(cp, "used", "c1");
      const result = await resultOf(cp, policy, "c1");
      assert.deepEqual([result.verdict, result.reason, result.override], ["Allowed", "Overridden", "used"]);
      const { status } = await cp.waitFor("the use to be told", async () => {
        const object = await cp.get(ref);
        return object["status"]?.usedCount === 1 && object;
      });
      const { uid } = (await cp.get(clusterRef("used", "c1"))).metadata;
      const [use] = status.used;
      assert.deepEqual([use.hook, use.clusterUID, use.policies], [HOOK, uid, ["HookPolicy used/p"]]);
      const about = { kind: "Cluster", namespace: "used", name: "c1" };
      const event = await eventAbout(cp, about, "OverrideUsed");
      assert.equal(event["note"], `${HOOK} proceeds because of HookOverride used, without HookPolicy used/p`);
      assert.equal(event["related"].name, "used");
      assert.ok((await operator.metric("hookpolicy_overrides", 'state="active"')) >= 1);
      const columns = await cp.kubectl("get", "hko", "used");
      assert.match(
        columns,
        /NAME\s+NAMESPACE\s+CLUSTER\s+ACTIVE\s+EXPIRES\s+USED\s+AGE\nused\s+used\s+c1\s+True\s+\S+Z\s+1\s/,
      );
    });

    test("lets a Cluster go that a rule holds which cannot be evaluated", async () => {
      const { cp } = fleet;
      const until: GateSpec[] = [
        { name: "unknown", object: { apiVersion: "example.com/v1", kind: "Nothing", selector: {} } },
      ];
      const policy = policyRef("broken", "p");
      await storePolicy(cp, policy, { rules: [{ ...approvalRule(HOOK), until }] });
      await createCluster(cp, { namespace: "broken", name: "c1" });
      assert.equal((await policyRow(cp, policy, "c1", HOOK)).verdict, "NotEvaluable");
      await override("broken");
      await isCreated(cp, "broken", "c1");
      assert.equal((await resultOf(cp, policy, "c1")).override, "broken");
    });

    test("lets go only what it names: that Cluster, those hooks, those policies", async () => {
      const { cp } = fleet;
      const policy = await held("named");
      const { uid = "" } = (await cp.get(clusterRef("named", "c1"))).metadata;
      const where = { namespace: "named", name: "c1" };
      const refs = await Promise.all([
        override("named-uid", { clusterRef: { ...where, uid: "00000000-0000-0000-0000-000000000000" } }),
        override("named-hook", { clusterRef: { ...where, uid }, hooks: ["BeforeClusterDelete"] }),
        override("named-cluster", { clusterRef: { ...where, name: "c2" } }),
        override("named-policy", {
          clusterRef: where,
          policyRefs: [{ kind: "HookPolicy", namespace: "named", name: "other" }],
        }),
      ]);
      for (const ref of refs) await conditionIs(cp, ref, "Active", "Active");
      assert.equal(await retry("named"), 5);
      await askedAgain(fleet, "named/c1", HOOK);
      await isNotCreated(cp, "named", "c1");
      assert.equal((await policyRow(cp, policy, "c1", HOOK)).verdict, "Blocked");
      for (const ref of refs) assert.equal((await cp.get(ref))["status"].usedCount, undefined);
      await override("named-all", {
        clusterRef: { ...where, uid },
        policyRefs: [{ kind: "HookPolicy", namespace: "named", name: "p" }],
      });
      await isCreated(cp, "named", "c1");
    });

    test("ends by itself, and stays as a record", async () => {
      const { cp, operator } = fleet;
      const policy = await held("expired", { ...approvalRule(HOOK), retryAfterSeconds: 60 });
      await pause("expired");
      const ref = await override("expired", { expiresAt: inSeconds(45) });
      await noRow(cp, policy, "c1", HOOK);
      await conditionIs(cp, ref, "Active", "Expired");
      assert.equal((await policyRow(cp, policy, "c1", HOOK)).verdict, "Blocked");
      assert.equal(await retry("expired"), 60);
      await isNotCreated(cp, "expired", "c1");
      assert.ok((await operator.metric("hookpolicy_overrides", 'state="expired"')) >= 1);
      assert.ok(await cp.find(ref), "still there");
    });

    test("that lasts too long has no effect until it is shortened", async () => {
      const { cp, operator } = fleet;
      const policy = await held("long");
      const ref = await override("long", { expiresAt: inSeconds(8 * 86_400) });
      const { status, message } = await conditionIs(cp, ref, "Stalled", "TooLong");
      assert.equal(status, "True");
      assert.match(message, /lasts longer than 168h from its creation \(--max-override-duration\)/);
      assert.equal(condition(await cp.get(ref), "Active")?.reason, "TooLong");
      assert.equal(await retry("long"), 5);
      assert.equal((await policyRow(cp, policy, "c1", HOOK)).verdict, "Blocked");
      assert.ok((await operator.metric("hookpolicy_overrides", 'state="ineffective"')) >= 1);
      await cp.patch(ref, { spec: { expiresAt: inSeconds(600) } });
      await conditionIs(cp, ref, "Active", "Active");
      assert.equal(condition(await cp.get(ref), "Stalled"), undefined);
      await isCreated(cp, "long", "c1");
    });

    test("does not change what an Audit policy says", async () => {
      const { cp } = fleet;
      const enforced = await held("audited");
      const audit = policyRef("audited", "would");
      await applyPolicy(cp, audit, { mode: "Audit", rules: [approvalRule(HOOK, "example.com/other")] });
      await policyRow(cp, audit, "c1", HOOK);
      await override("audited", { policyRefs: [{ kind: "HookPolicy", namespace: "audited", name: "p" }] });
      await isCreated(cp, "audited", "c1");
      assert.equal((await resultOf(cp, enforced, "c1")).reason, "Overridden");
      const result = await resultOf(cp, audit, "c1");
      assert.deepEqual([result.verdict, result.override], ["WouldBlock", undefined]);
    });
  });

  test("that was deleted lets nothing go, also where the operator has not heard of it", async () => {
    const { cp, operator } = fleet;
    const policy = await held("deleted", { ...approvalRule(HOOK), retryAfterSeconds: 60 });
    await pause("deleted");
    const ref = await override("deleted");
    await noRow(cp, policy, "c1", HOOK);
    const said = async (): Promise<string> => {
      const cluster = await cp.get(clusterRef("deleted", "c1"));
      return (await operator.ask(HOOK, { cluster })).message ?? "";
    };
    // The Cluster is paused, and so wants no release.
    await cp.waitFor("no policy to hold it", async () => /could not confirm/.test(await said()));
    proxy.stallWatches(/hookoverrides/);
    await cp.delete(ref);
    // Before the stalled watch is given up, and memory hears of the deletion.
    const policyHolds = async (): Promise<boolean> => (await said()).startsWith("HookPolicy deleted/p");
    await cp.waitFor(
      "the policy to hold it: memory has the override, the API server has not",
      policyHolds,
      30_000,
    );
    const again = await override("deleted", { hooks: ["BeforeClusterDelete"] });
    await cp.waitFor("the policy to hold it: the override is another one of its name", policyHolds, 30_000);
    await cp.delete(again);
    proxy.resume();
    await policyRow(cp, policy, "c1", HOOK);
    await isNotCreated(cp, "deleted", "c1");
    assert.ok((await operator.metric("hookpolicy_hook_calls_total", 'verdict="InternalError"')) === 0);
    assert.equal(statusOf(await cp.get(policy)).blocked, 1);
  });
});
