/** Events on a real API server: one for each transition, whoever and how many tell of it, and none for a call. */

import assert from "node:assert/strict";
import { after, describe, test } from "node:test";
import type { DeadlineSpec } from "../../src/api/hook-policy.ts";
import type { KubeObject } from "../controlplane/client.ts";
import { clusterRef, createCluster, NEXT_VERSION } from "../controlplane/lab.ts";
import { holdsFor, startOperator } from "../controlplane/operator.ts";
import {
  applyPolicy,
  APPROVED,
  approvalRule,
  conditionIs,
  eventAbout,
  policyRow,
  policyRef,
  resultOf,
  storeOverride,
} from "../controlplane/policies.ts";
import { beginUpgrade, startLab } from "./operator-lab.ts";

const HOOK = "BeforeClusterUpgrade";

const lab = await startLab();
after(async () => await lab.stop());
const { cp } = lab;
const second = await startOperator(cp, { name: "second", kubeconfig: lab.kubeconfig });

describe("Events", () => {
  async function held(namespace: string, deadline?: DeadlineSpec): Promise<void> {
    await asked(namespace, deadline);
    await policyRow(cp, policyRef(namespace, "p"), "c1", HOOK);
  }

  async function asked(namespace: string, deadline?: DeadlineSpec, more: object = {}): Promise<void> {
    const rules = [{ ...approvalRule(HOOK), ...(deadline !== undefined && { deadline }) }];
    await applyPolicy(cp, policyRef(namespace, "p"), { rules, ...more });
    await createCluster(cp, { namespace, name: "c1", version: NEXT_VERSION });
    await askBoth(namespace);
  }

  async function askBoth(namespace: string): Promise<void> {
    const request = await lab.requestFor(namespace, "c1");
    for (const operator of [lab.operator, second]) await operator.ask(HOOK, request);
  }

  /** Without Cluster API nobody asks: that policies tell so is another test's matter. */
  async function allEvents(namespace: string): Promise<KubeObject[]> {
    const all = await cp.list({ apiVersion: "events.k8s.io/v1", kind: "Event", namespace });
    return all.filter((event) => event["reason"] !== "NotCalled");
  }

  /** Without those that repeat for the policy what the Cluster's say. */
  async function events(namespace: string): Promise<KubeObject[]> {
    return (await allEvents(namespace)).filter(
      (event) => event["regarding"].kind === "Cluster" || event["series"] !== undefined,
    );
  }

  async function notes(namespace: string): Promise<string[]> {
    return (await events(namespace)).map((event) => `${event["reason"]}: ${event["note"]}`).toSorted();
  }

  test("tell once that nothing asks a policy, whichever operator has written so", async () => {
    await applyPolicy(cp, policyRef("alone", "p"), { rules: [approvalRule(HOOK)] });
    await conditionIs(cp, policyRef("alone", "p"), "NotCalled", "RuntimeSDKNotInstalled");
    const about = { kind: "HookPolicy", namespace: "alone", name: "p" };
    assert.equal((await eventAbout(cp, about, "NotCalled"))["action"], "RuntimeSDKNotInstalled");
    const told = await cp.list({ apiVersion: "events.k8s.io/v1", kind: "Event", namespace: "alone" });
    assert.equal(told.length, 1);
  });

  test("tell of 50, 80 and 100 % of a deadline, once for two operators and a restart", async () => {
    await held("steps", { after: "10s", onExpiry: "KeepBlocking" });
    const about = { kind: "Cluster", namespace: "steps", name: "c1" };
    const passed = await eventAbout(cp, about, "DeadlinePassed");
    assert.equal(passed["type"], "Warning");
    assert.equal(passed["related"].name, "p");
    const told = await cp.waitFor("all to be told", async () => {
      const found = await notes("steps");
      return found.length >= 4 && found;
    });
    assert.deepEqual(
      told.map((note) => [/^\w+/.exec(note)?.[0], /; (\d+) %/.exec(note)?.[1]]),
      [
        ["DeadlineApproaching", "50"],
        ["DeadlineApproaching", "80"],
        ["DeadlinePassed", undefined],
        ["Held", undefined],
      ],
    );
    await askBoth("steps");
    lab.proxy.forget();
    await lab.start();
    await askBoth("steps");
    await cp.waitFor("the restarted operator to tell again", () =>
      lab.proxy.requests.some(({ method, path }) => method === "POST" && path.endsWith("/steps/events")),
    );
    await holdsFor(1000, async () => assert.deepEqual(await notes("steps"), told));
    const row = await policyRow(cp, policyRef("steps", "p"), "c1", HOOK);
    assert.match(row.message, /the deadline passed at/);
  });

  test("tell once that a hold begins, and once that the operation goes on, to whichever operator soever", async () => {
    await held("released");
    await askBoth("released");
    const about = { kind: "Cluster", namespace: "released", name: "c1" };
    const begun = await eventAbout(cp, about, "Held");
    assert.deepEqual([begun["type"], begun["action"], begun["related"].name], ["Normal", HOOK, "p"]);
    assert.match(
      begun["note"],
      /^BeforeClusterUpgrade is held by HookPolicy released\/p, rule .*: gate approved/,
    );
    await cp.patch(clusterRef("released", "c1"), { metadata: { annotations: { [APPROVED]: "" } } });
    await cp.waitFor("the go of each operator", async () => {
      const request = await lab.requestFor("released", "c1");
      const answers = await Promise.all(
        [lab.operator, second].map((operator) => operator.ask(HOOK, request)),
      );
      return answers.every(({ retryAfterSeconds }) => retryAfterSeconds === 0);
    });
    await beginUpgrade(cp, "released", "c1");
    const ended = await eventAbout(cp, about, "Released");
    assert.match(
      ended["note"],
      /^BeforeClusterUpgrade proceeds: HookPolicy released\/p does not hold it any more/,
    );
    await eventAbout(cp, { kind: "HookPolicy", namespace: "released", name: "p" }, "Released");
    await holdsFor(1000, async () => {
      const told = (await allEvents("released")).map(
        (event) => `${event["regarding"].kind} ${event["reason"]}`,
      );
      assert.deepEqual(told.toSorted(), [
        "Cluster Held",
        "Cluster Released",
        "HookPolicy Held",
        "HookPolicy Released",
      ]);
    });
    const described = await cp.kubectl("describe", "hkp", "-n", "released", "p");
    assert.match(
      described,
      /Held .*Rule approval holds BeforeClusterUpgrade of Cluster released\/c1 \(WaitingForAnnotation\)/,
    );
  });

  test("and the status tell what an Audit policy would have held: which rule, which gate, and why", async () => {
    await asked("tried", undefined, { mode: "Audit" });
    await beginUpgrade(cp, "tried", "c1");
    const { verdict, rule, gate, message } = await resultOf(cp, policyRef("tried", "p"), "c1");
    assert.deepEqual([verdict, rule, gate], ["WouldBlock", "approval", "approved"]);
    assert.match(message ?? "", /^gate approved waits for annotation/);
    for (const kind of ["Cluster", "HookPolicy"]) {
      const name = kind === "Cluster" ? "c1" : "p";
      const event = await eventAbout(cp, { kind, namespace: "tried", name }, "WouldBlock");
      assert.match(event["note"], /has proceeded, which .* would hold in mode Enforce/);
    }
    await holdsFor(1000, async () => assert.equal((await allEvents("tried")).length, 2));
    const counted = await lab.operator.metric("hookpolicy_policy_would_block_total", 'namespace="tried"');
    assert.equal(counted, 1);
  });

  test("tell of no call, and of no deadline that is not enforced", async () => {
    await asked("audited", { after: "1s", onExpiry: "Allow" }, { mode: "Audit" });
    await beginUpgrade(cp, "audited", "c1");
    assert.equal((await resultOf(cp, policyRef("audited", "p"), "c1")).verdict, "WouldBlock");
    await held("calls");
    for (let calls = 0; calls < 20; calls += 1) await askBoth("calls");
    await cp.waitFor("the time of the deadline of the Audit policy", async () => {
      const row = await policyRow(cp, policyRef("calls", "p"), "c1", HOOK);
      return Date.now() > Date.parse(row.firstAsked) + 2000;
    });
    await holdsFor(1000, async () => {
      assert.deepEqual(
        (await notes("audited")).map((note) => note.split(":")[0]),
        ["WouldBlock"],
      );
      assert.deepEqual(
        (await notes("calls")).map((note) => note.split(":")[0]),
        ["Held"],
      );
    });
  });

  test("tell once that an override was used, by which operator soever", async () => {
    await held("overridden");
    const override = await storeOverride(cp, "emergency", {
      clusterRef: { namespace: "overridden", name: "c1" },
      hooks: [HOOK],
    });
    await conditionIs(cp, override, "Active", "Active");
    const request = await lab.requestFor("overridden", "c1");
    for (const operator of [lab.operator, second]) {
      await cp.waitFor("the override to count", async () => {
        return (await operator.ask(HOOK, request)).retryAfterSeconds === 0;
      });
    }
    await beginUpgrade(cp, "overridden", "c1");
    await eventAbout(cp, { kind: "Cluster", namespace: "overridden", name: "c1" }, "OverrideUsed");
    const used = await cp.waitFor("the use to be told", async () => (await cp.get(override))["status"].used);
    assert.equal(used.length, 1);
    await holdsFor(2000, async () => {
      const told = (await events("overridden")).filter((event) => event["reason"] === "OverrideUsed");
      assert.equal(told.length, 1);
      const { status } = await cp.get(override);
      assert.deepEqual([status.used.length, status.usedCount], [1, 1]);
    });
  });

  test("of one cause are written one by one up to a bound; the others become one that counts them", async () => {
    const rules = [{ ...approvalRule(HOOK), deadline: { after: "2s", onExpiry: "KeepBlocking" as const } }];
    await applyPolicy(cp, policyRef("burst", "p"), { rules });
    const names = Array.from({ length: 25 }, (_, n) => `c${n}`);
    for (const name of names) await createCluster(cp, { namespace: "burst", name, version: NEXT_VERSION });
    for (const name of names) await lab.ask(HOOK, "burst", name);
    const passed = await cp.waitFor("the Event that counts", async () => {
      const found = (await events("burst")).filter((event) => event["reason"] === "DeadlinePassed");
      return found.some((event) => event["regarding"].kind === "HookPolicy") && found;
    });
    const counting = passed.find((event) => event["regarding"].kind === "HookPolicy");
    assert.equal(counting?.["series"].count, 5);
    assert.match(counting?.["note"], /^5 more at about the same time: burst\/c/);
  });

  test("that a namespace refuses because it is being deleted are no failure", async () => {
    await held("ending", { after: "8s", onExpiry: "KeepBlocking" });
    await cp.patch(clusterRef("ending", "c1"), { metadata: { finalizers: ["example.com/stay"] } });
    await cp.delete({ apiVersion: "v1", kind: "Namespace", name: "ending" });
    await cp.waitFor("the Event to be refused", async () => {
      return (await lab.operator.metric("hookpolicy_events_total", 'result="refused"')) > 0;
    });
    const failures = lab.operator.lines().filter(({ msg }) => msg === "Failed to write an Event");
    assert.deepEqual(failures, []);
    await cp.patch(clusterRef("ending", "c1"), { metadata: { finalizers: null } });
  });

  test("that cannot be written hold up nothing", async () => {
    lab.proxy.failAll(403, /^POST .*\/events/);
    await held("forbidden", { after: "5s", onExpiry: "Allow" });
    await lab.releases("the deadline to let it go", HOOK, "forbidden", "c1");
    await cp.waitFor("the failure to be logged", () =>
      lab.operator
        .lines()
        .some(({ msg, reason }) => msg === "Failed to write an Event" && reason === "DeadlinePassed"),
    );
    assert.deepEqual(await notes("forbidden"), []);
    lab.proxy.resume();
  });
});
