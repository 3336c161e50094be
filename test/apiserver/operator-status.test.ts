/** What the operator answers and what it writes about it, against a real API server; the test plays Cluster API. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import { objectOf } from "../controlplane/client.ts";
import { clusterRef, createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { holdsFor } from "../controlplane/operator.ts";
import {
  APPROVED,
  applyPolicy,
  approvalRule,
  approve,
  condition,
  eventAbout,
  policyRow,
  policyRef,
  statusOf,
} from "../controlplane/policies.ts";
import { inParallel, policyPath, startLab, writesOf } from "./operator-lab.ts";

const HOUR_OF_ASKS = 720; // one every 5 s
const MANY = 300;
const REST_MS = 15_000;

const lab = await startLab();
after(async () => await lab.stop());
const { cp } = lab;

describe("the operator", () => {
  const blocked = async (namespace: string, count: number): Promise<void> => {
    await cp.waitFor(`${count} blocked Clusters in ${namespace}`, async () => {
      return statusOf(await cp.get(policyRef(namespace, "protect"))).blocked === count;
    });
  };

  const matched = async (namespace: string, count: number): Promise<void> => {
    await cp.waitFor(`${count} matched Clusters in ${namespace}`, async () => {
      return statusOf(await cp.get(policyRef(namespace, "protect"))).matchedClusters === count;
    });
  };

  /** A Cluster that wants the version that the test asks about. */
  const create = async (namespace: string, name: string): Promise<void> => {
    await createCluster(cp, { namespace, name, version: NEXT_VERSION });
  };

  /** A policy "protect" that holds upgrades, and a Cluster "c1" that it matches. */
  const protect = async (namespace: string): Promise<void> => {
    await applyPolicy(cp, policyRef(namespace, "protect"), {
      rules: [approvalRule("BeforeClusterUpgrade")],
    });
    await create(namespace, "c1");
    await matched(namespace, 1);
  };

  test("writes one status for a Cluster that asks for an hour", async () => {
    await protect("hour");
    await eventAbout(cp, { kind: "HookPolicy", namespace: "hour", name: "protect" }, "NotCalled");
    const request = await lab.requestFor("hour", "c1");
    lab.proxy.forget();
    for (let asks = 0; asks < HOUR_OF_ASKS; asks += 1) {
      const { status, retryAfterSeconds } = await lab.operator.ask("BeforeClusterUpgrade", request);
      assert.deepEqual({ status, retryAfterSeconds }, { status: "Success", retryAfterSeconds: 5 });
    }
    await blocked("hour", 1);
    const told = "POST /apis/events.k8s.io/v1/namespaces/hour/events";
    // About the Cluster and about the policy.
    const events = async (): Promise<boolean> => writes().filter((write) => write === told).length === 2;
    await cp.waitFor("both Events of the hold", events);
    assert.deepEqual(writes().toSorted(), [told, told, `PUT ${policyPath("hour", "protect")}/status`]);
  });

  test("counts 300 held Clusters exactly, in 50 rows and at most one write per second", async () => {
    const names = Array.from({ length: MANY }, (_, i) => `c${String(i).padStart(3, "0")}`);
    // As much text in each row as there can be.
    await applyPolicy(cp, policyRef("many", "protect"), {
      rules: [{ ...approvalRule("BeforeClusterUpgrade"), message: "ü".repeat(200) }],
    });
    await inParallel(names, 10, async (name) => await create("many", name));
    await inParallel(names, 10, async (name) => {
      const answer = await lab.ask("BeforeClusterUpgrade", "many", name);
      assert.equal(answer.retryAfterSeconds, 5);
    });
    await blocked("many", MANY);
    const status = statusOf(await cp.get(policyRef("many", "protect")));
    assert.equal(status.matchedClusters, MANY);
    assert.equal(status.decisions?.length, 50);
    assert.equal(status.decisionsOmitted, MANY - 50);
    assert.ok(Buffer.byteLength(JSON.stringify(status)) <= 64 * 1024);

    const written = writesOf(lab, policyPath("many", ""));
    assert.ok(written.length >= 2, "creating and asking took longer than a second");
    for (const [index, { at }] of written.entries()) {
      const last = written[index - 1]?.at.getTime() ?? -Infinity;
      // Counted from the end of a write, but seen at the begin of it.
      assert.ok(at.getTime() - last >= 950, `write ${index} came after ${at.getTime() - last} ms`);
    }
  });

  test("writes nothing at rest", async () => {
    await settled();
    // 300 holds are told of in some Events one after the other; how many depends on how fast they came.
    await cp.waitFor(`${REST_MS / 1000} s without a write`, async () => {
      const last = writesOf(lab).at(-1)?.at.getTime() ?? 0;
      return Date.now() - last >= REST_MS;
    });
  });

  test("writes nothing after a restart, and knows the same numbers", async () => {
    const stored = statusOf(await cp.get(policyRef("many", "protect")));
    lab.proxy.forget();
    const operator = await lab.start();
    await settled();
    // Who asks again is not news, either.
    const names = Array.from({ length: MANY }, (_, i) => `c${String(i).padStart(3, "0")}`);
    await inParallel(names, 10, async (name) => await lab.ask("BeforeClusterUpgrade", "many", name));
    await settled();
    await holdsFor(2500, async () => assert.deepEqual(writes(), []));
    assert.deepEqual(statusOf(await cp.get(policyRef("many", "protect"))), stored);
    assert.equal(await operator.metric("hookpolicy_status_writes_total"), 0);
  });

  test("lets go after an annotation, and needs no call to tell", async () => {
    await protect("approved");
    await lab.ask("BeforeClusterUpgrade", "approved", "c1");
    const row = await policyRow(cp, policyRef("approved", "protect"), "c1", "BeforeClusterUpgrade");

    await approve(cp, "approved", "c1");
    await blocked("approved", 0); // without a call
    // Times have no fractions of a second.
    await cp.waitFor("a later second", () => Date.now() >= Date.parse(row.since) + 1000);
    await unapprove("approved");
    await blocked("approved", 1);
    const again = await policyRow(cp, policyRef("approved", "protect"), "c1", "BeforeClusterUpgrade");
    assert.equal(again.firstAsked, row.firstAsked);
    assert.ok(again.since > row.since, "held anew");

    const request = await lab.requestFor("approved", "c1"); // not annotated, as an old cache would send it
    await approve(cp, "approved", "c1");
    await cp.waitFor("the release", async () => {
      return (await lab.operator.ask("BeforeClusterUpgrade", request)).retryAfterSeconds === 0;
    });
    await blocked("approved", 0);

    await unapprove("approved");
    assert.equal((await lab.ask("BeforeClusterUpgrade", "approved", "c1")).retryAfterSeconds, 5);
    const last = await policyRow(cp, policyRef("approved", "protect"), "c1", "BeforeClusterUpgrade");
    assert.equal(last.firstAsked, row.firstAsked);
  });

  const unapprove = async (namespace: string): Promise<void> => {
    await cp.patch(clusterRef(namespace, "c1"), { metadata: { annotations: { [APPROVED]: null } } });
  };

  test("never lets a Cluster go past a policy that was applied a moment ago", async () => {
    await create("race", "c1");
    const request = await lab.requestFor("race", "c1");
    const spec = { rules: [approvalRule("BeforeClusterUpgrade")] };
    for (let round = 0; round < 20; round += 1) {
      const policy = policyRef("race", `protect-${round}`);
      await cp.create(objectOf(policy, { spec }));
      const answer = await lab.operator.ask("BeforeClusterUpgrade", request);
      assert.ok(answer.retryAfterSeconds === 5, `applied, round ${round}: ${JSON.stringify(answer)}`);
      await cp.patch(policy, { spec: { mode: "Audit" } });
      await cp.waitFor("Audit to let it go", async () => {
        return (await lab.operator.ask("BeforeClusterUpgrade", request)).retryAfterSeconds === 0;
      });
      await cp.patch(policy, { spec: { mode: "Enforce" } });
      const enforced = await lab.operator.ask("BeforeClusterUpgrade", request);
      assert.ok(enforced.retryAfterSeconds === 5, `enforced, round ${round}: ${JSON.stringify(enforced)}`);
      await cp.delete(policy);
    }
    await cp.waitFor("no policy to be left in memory", async () => {
      return (await lab.operator.ask("BeforeClusterUpgrade", request)).retryAfterSeconds === 0;
    });
    // The watch most often wins; here it cannot.
    lab.proxy.stallWatches(/ \/apis\/hookpolicy\.dev\//);
    await cp.create(objectOf(policyRef("race", "unseen"), { spec }));
    const unseen = await lab.operator.ask("BeforeClusterUpgrade", request);
    lab.proxy.resume();
    assert.ok(unseen.retryAfterSeconds === 5, JSON.stringify(unseen));
  });

  test("logs the same answer once, and every change of it", async () => {
    await protect("logged");
    const called = (everyCall = false): readonly string[] =>
      lab.operator
        .lines()
        .filter(({ msg, cluster }) => cluster === "logged/c1" && msg.includes(" is called"))
        // A busy API server may not answer in time. The answer after that is logged again.
        .filter(({ verdict, msg }, index, all) => {
          const before = all.slice(0, index).findLast((each) => each["verdict"] !== "NotConfirmed");
          const isAgain = all[index - 1]?.["verdict"] === "NotConfirmed" && before?.msg === msg;
          return verdict !== "NotConfirmed" && (everyCall || !isAgain);
        })
        .map(({ msg, verdict, rule }) => `${msg} ${String(verdict)} ${String(rule)}`);
    const go = async (): Promise<unknown> =>
      await lab.releases("a go", "BeforeClusterUpgrade", "logged", "c1");
    const held = "BeforeClusterUpgrade is called, response is Success. retry: 5 Blocked approval";
    const released = "BeforeClusterUpgrade is called, response is Success. retry: 0 Allowed approval";
    for (let asks = 0; asks < 5; asks += 1) await lab.ask("BeforeClusterUpgrade", "logged", "c1");
    assert.deepEqual(called(), [held]);

    await approve(cp, "logged", "c1");
    const change = await cp.waitFor("the change to be logged", () =>
      lab.operator.lines().find(({ msg, cluster, to }) => {
        return msg === "Decision changed" && cluster === "logged/c1" && to === "Allowed";
      }),
    );
    assert.deepEqual(
      [change["hook"], change["policy"], change["rule"], change["from"]],
      ["BeforeClusterUpgrade", "HookPolicy logged/protect", "approval", "Blocked"],
    );
    for (let goes = 0; goes < 5; goes += 1) await go();
    assert.deepEqual(called(), [held, released]);

    await lab.start({ flags: { "log-level": "debug" } });
    for (let goes = 0; goes < 5; goes += 1) await go();
    assert.deepEqual(called(true), [released, released, released, released, released]);
  });

  test("refuses rules that this Cluster API cannot be held by, and serves the rest of them", async () => {
    const rules = [
      { ...approvalRule("AfterClusterUpgrade"), name: "after" },
      { ...approvalRule("BeforeClusterUpgrade"), hooks: ["BeforeWorkersUpgrade", "BeforeClusterUpgrade"] },
    ];
    await applyPolicy(cp, policyRef("old", "protect"), { rules }); // fine for the newest
    await create("old", "c1");
    await lab.start({ flags: { "capi-version": "1.11" } });
    const policy = await cp.waitFor("the policy to be refused", async () => {
      const object = await cp.get(policyRef("old", "protect"));
      return condition(object, "Ready")?.status === "False" && object;
    });
    const stalled = condition(policy, "Stalled");
    assert.equal(stalled?.status, "True");
    assert.equal(stalled.reason, "HookNotEnforceable");
    assert.match(stalled.message, /spec\.rules\[0\]\.hooks\[0\]: Cluster API 1\.11 does not wait for AfterC/);
    assert.match(stalled.message, /spec\.rules\[1\]\.hooks\[0\]: Cluster API 1\.11 does not call BeforeW/);
    assert.equal(condition(policy, "Ready")?.reason, "HookNotEnforceable");

    assert.equal((await lab.ask("BeforeClusterUpgrade", "old", "c1")).retryAfterSeconds, 5);
    const observed = await lab.ask("AfterClusterUpgrade", "old", "c1");
    assert.deepEqual([observed.status, observed.retryAfterSeconds], ["Success", undefined]);

    await lab.start();
    await cp.waitFor("the newest Cluster API to be able to", async () => {
      return condition(await cp.get(policyRef("old", "protect")), "Ready")?.status === "True";
    });
    assert.equal((await lab.ask("AfterClusterUpgrade", "old", "c1")).retryAfterSeconds, 5);
  });
});

function writes(): readonly string[] {
  return writesOf(lab).map(({ method, path }) => `${method} ${path}`);
}

/** Everything is in memory, and everything was looked at. */
async function settled(): Promise<void> {
  await cp.waitFor("the operator to have nothing to do", async () => {
    const loaded = lab.operator.lines().some(({ msg }) => msg.startsWith("Loaded policies"));
    return loaded && (await lab.operator.metric("hookpolicy_workqueue_depth")) === 0;
  });
}
