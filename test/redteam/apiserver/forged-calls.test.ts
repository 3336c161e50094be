/** Forged calls to the operator as it is shipped, on a real API server: what test/redteam/forged-calls.test.ts has on modules. */

import assert from "node:assert/strict";
import test, { after, before, describe } from "node:test";
import { type Lab, startLab } from "../../apiserver/operator-lab.ts";
import { clusterRef, createCluster, FIRST_VERSION, NEXT_VERSION } from "../../controlplane/lab.ts";
import { holdsFor, type Operator, startOperator } from "../../controlplane/operator.ts";
import {
  APPROVED,
  applyPolicy,
  approvalRule,
  approve,
  policyRow,
  policyRef,
  statusOf,
} from "../../controlplane/policies.ts";

const HOOK = "BeforeClusterCreate";
const NEWEST = "99999999999";

describe("a forged call", () => {
  let lab: Lab;
  let second: Operator;
  before(async () => {
    lab = await startLab();
    second = await startOperator(lab.cp, { name: "second", kubeconfig: lab.kubeconfig });
  });
  after(async () => await lab?.stop());

  /** About the Cluster as it is, but for what is forged. */
  async function forge(namespace: string, annotations: object, operator = second): Promise<void> {
    const { cluster } = (await lab.requestFor(namespace, "c1")) as { cluster: { metadata: object } };
    const metadata = { ...cluster.metadata, resourceVersion: NEWEST, annotations };
    await operator.ask(HOOK, { cluster: { ...cluster, metadata } });
  }

  async function isHeld(namespace: string): Promise<boolean> {
    const request = await lab.requestFor(namespace, "c1");
    const answers = await Promise.all([lab.operator, second].map((each) => each.ask(HOOK, request)));
    return answers.some(({ retryAfterSeconds }) => retryAfterSeconds !== 0);
  }

  test("(a) starts no deadline of a rule that holds nothing", async () => {
    const { cp } = lab;
    const deadline = { after: "20s", onExpiry: "Allow" as const };
    await applyPolicy(cp, policyRef("a", "p"), { rules: [{ ...approvalRule(HOOK), deadline }] });
    await createCluster(cp, { namespace: "a", name: "c1", annotations: { [APPROVED]: "" } });
    await cp.waitFor("the operators to know it", async () => !(await isHeld("a")));
    for (const operator of [lab.operator, second]) await forge("a", {}, operator);
    await holdsFor(4000, async () =>
      assert.equal(statusOf(await cp.get(policyRef("a", "p"))).decisions, undefined),
    );
    const held = Math.floor(Date.now() / 1000) * 1000; // times have no fractions of a second
    await cp.patch(clusterRef("a", "c1"), { metadata: { annotations: { [APPROVED]: null } } });
    const row = await policyRow(cp, policyRef("a", "p"), "c1", HOOK);
    assert.ok(Date.parse(row.timers?.[0]?.blockedSince ?? "") >= held, "its clock is its own");
  });

  test("(b) restarts no wait", async () => {
    const { cp } = lab;
    const wait = { name: "soak", wait: { duration: "20s" } };
    const rule = approvalRule(HOOK);
    await applyPolicy(cp, policyRef("b", "p"), {
      rules: [{ ...rule, until: [...(rule.until ?? []), wait] }],
    });
    await createCluster(cp, { namespace: "b", name: "c1" });
    await policyRow(cp, policyRef("b", "p"), "c1", HOOK);
    await approve(cp, "b", "c1");
    const since = await cp.waitFor("the wait to run", async () => {
      const { timers } = await policyRow(cp, policyRef("b", "p"), "c1", HOOK);
      return timers?.[0]?.gatesMetSince;
    });
    for (let n = 0; n < 4; n += 1) {
      for (const operator of [lab.operator, second]) await forge("b", {}, operator);
      const [row] = statusOf(await cp.get(policyRef("b", "p"))).decisions ?? [];
      if (row !== undefined) assert.equal(row.timers?.[0]?.gatesMetSince, since);
    }
    await cp.waitFor("the wait to pass", async () => !(await isHeld("b")));
  });

  test("(e) for the version that the Cluster has is reported nowhere, (f) nor is one for no version at all", async () => {
    const { cp } = lab;
    await applyPolicy(cp, policyRef("e", "p"), { rules: [approvalRule("BeforeClusterUpgrade")] });
    await createCluster(cp, { namespace: "e", name: "c1" });
    const { cluster } = (await lab.requestFor("e", "c1")) as { cluster: object };
    const versions = { fromKubernetesVersion: FIRST_VERSION, toKubernetesVersion: FIRST_VERSION };
    await cp.waitFor("the policy to hold", async () => {
      const answer = await second.ask("BeforeClusterUpgrade", { cluster, ...versions });
      return (answer.retryAfterSeconds ?? 0) > 0;
    });
    const text = "\u001B[2J".padEnd(64, "x");
    const none = await second.ask("BeforeClusterUpgrade", {
      cluster,
      ...versions,
      toKubernetesVersion: text,
    });
    assert.equal(none.status, "Failure");
    await second.ask("BeforeClusterUpgrade", { cluster, ...versions, toKubernetesVersion: NEXT_VERSION });
    await holdsFor(3000, async () => {
      const { decisions, recent } = statusOf(await cp.get(policyRef("e", "p")));
      assert.deepEqual([decisions, recent], [undefined, undefined]);
      const events = await cp.list({ apiVersion: "events.k8s.io/v1", kind: "Event", namespace: "e" });
      assert.deepEqual(
        events.filter((event) => event["reason"] === "Held"),
        [],
      );
    });
  });
});
