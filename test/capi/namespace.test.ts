/** Deleting a namespace, with the real namespace controller, and two operators that share the work. */

import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import type { HookResponse } from "../../src/api/runtime-hooks.ts";
import { clusterRef, createCluster, deleteCluster, isGone, waitUntilGone } from "../controlplane/lab.ts";
import { type Operator, startOperator } from "../controlplane/operator.ts";
import {
  applyPolicy,
  approvalRule,
  approve,
  atRest,
  policyRow,
  policyRef,
  statusOf,
} from "../controlplane/policies.ts";
import { askedAgain, type Fleet, protectedCluster, startFleet } from "./fleet.ts";

const FINALIZER = "hookpolicy.dev/hold-clusters";

const fleet = await startFleet();
after(async () => fleet.cp.stop());

describe("a namespace with a policy", () => {
  async function finalizers(namespace: string): Promise<readonly string[]> {
    return (await fleet.cp.get(policyRef(namespace, "protect"))).metadata.finalizers ?? [];
  }

  async function guarded(namespace: string): Promise<void> {
    const { cp } = fleet;
    await protectedCluster(cp, namespace, "BeforeClusterDelete");
    await cp.waitFor("the finalizer", async () => (await finalizers(namespace)).includes(FINALIZER));
  }

  test("keeps the Cluster until its gate is met, and then goes", async () => {
    const { cp } = fleet;
    await guarded("team-a");
    await cp.delete({ apiVersion: "v1", kind: "Namespace", name: "team-a" });
    await policyRow(cp, policyRef("team-a", "protect"), "c1", "BeforeClusterDelete");
    await cp.waitFor("the policy to be deleted, too", async () => {
      const { metadata } = await cp.get(policyRef("team-a", "protect"));
      return metadata.deletionTimestamp !== undefined;
    });
    await askedAgain(fleet, "team-a/c1", "BeforeClusterDelete");
    assert.ok(await cp.find(clusterRef("team-a", "c1")), "the Cluster is still there");
    assert.ok(await cp.find(policyRef("team-a", "protect")), "the policy is still there");
    await approve(cp, "team-a", "c1");
    await waitUntilGone(cp, "team-a", "c1");
    await isGone(cp, { apiVersion: "v1", kind: "Namespace", name: "team-a" });
  });

  test("lets its owner delete the policy at once while it lives", async () => {
    const { cp } = fleet;
    await guarded("team-b");
    await deleteCluster(cp, "team-b", "c1");
    await policyRow(cp, policyRef("team-b", "protect"), "c1", "BeforeClusterDelete");
    // The policy holds the Cluster: if it waited for that, it would wait for ever.
    await cp.kubectl("delete", "hookpolicy", "-n", "team-b", "protect", "--timeout=120s");
    await waitUntilGone(cp, "team-b", "c1");
  });

  test("has no finalizer on a policy that holds no deletion, or matches nothing", async () => {
    const { cp } = fleet;
    await applyPolicy(cp, policyRef("team-c", "protect"), {
      clusterSelector: { matchLabels: { tier: "production" } },
      rules: [approvalRule("BeforeClusterDelete")],
    });
    await createCluster(cp, { namespace: "team-c", name: "c1" });
    for (const [tier, there] of [
      ["production", true],
      ["test", false],
      ["production", true],
    ] as const) {
      await cp.patch(clusterRef("team-c", "c1"), { metadata: { labels: { tier } } });
      await cp.waitFor(
        `the finalizer to be ${there ? "there" : "gone"}`,
        async () => (await finalizers("team-c")).includes(FINALIZER) === there,
      );
    }
    await cp.patch(policyRef("team-c", "protect"), { spec: { mode: "Audit" } });
    await cp.waitFor("the finalizer to be gone", async () => (await finalizers("team-c")).length === 0);
  });

  test("is kept by two operators that are asked in turn, with one status between them", async () => {
    const { cp, operator } = fleet;
    const second = await startOperator(cp, { name: "second" });
    await guarded("team-d");
    await deleteCluster(cp, "team-d", "c1");
    await policyRow(cp, policyRef("team-d", "protect"), "c1", "BeforeClusterDelete");
    const read = async (): Promise<unknown> =>
      (await cp.get(policyRef("team-d", "protect"))).metadata.resourceVersion;
    const version = await atRest(cp, read);
    const row = await policyRow(cp, policyRef("team-d", "protect"), "c1", "BeforeClusterDelete");
    for (let n = 0; n < 20; n += 1) {
      const answer = await ask(fleet, n % 2 === 0 ? operator : second, "team-d");
      assert.equal(answer.retryAfterSeconds, 5);
      assert.equal(answer.message, (await ask(fleet, n % 2 === 0 ? second : operator, "team-d")).message);
    }
    const policy = await cp.get(policyRef("team-d", "protect"));
    assert.equal(policy.metadata.resourceVersion, version, "no write while nothing changes");
    assert.deepEqual(statusOf(policy).decisions, [row]);

    await operator.daemon.stop("SIGKILL");
    assert.equal((await ask(fleet, second, "team-d")).retryAfterSeconds, 5);
    await approve(cp, "team-d", "c1");
    await cp.waitFor(
      "the other operator to let it go",
      async () => (await ask(fleet, second, "team-d")).retryAfterSeconds === 0,
    );
  });
});

async function ask({ cp }: Fleet, operator: Operator, namespace: string): Promise<HookResponse> {
  return await operator.ask("BeforeClusterDelete", { cluster: await cp.get(clusterRef(namespace, "c1")) });
}
