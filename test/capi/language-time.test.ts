/** What time does to a Cluster under the real Cluster API: windows, waits, deadlines, and what is foretold of them. */

import assert from "node:assert/strict";
import test, { after, describe } from "node:test";
import type { GateSpec, RuleSpec, WindowGateSpec } from "../../src/api/hook-policy.ts";
import type { Ref } from "../controlplane/client.ts";
import { clusterRef, createCluster } from "../controlplane/lab.ts";
import { holdsFor, type Operator, startOperator } from "../controlplane/operator.ts";
import {
  APPROVED,
  applyPolicy,
  approve,
  atRest,
  condition,
  conditionIs,
  eventAbout,
  policyRow,
  inSeconds,
  noRow,
  policyRef,
  resultOf,
  statusOf,
  untilTime,
} from "../controlplane/policies.ts";
import { isCreated, isNotCreated, restartOperator, startFleet, topologySays } from "./fleet.ts";

const HOOK = "BeforeClusterCreate";
/** Longer than any test: only an answer that is bounded by the next edge lets a Cluster go in time. */
const LONG_RETRY = 300;

function rule(until: readonly GateSpec[], more: Partial<RuleSpec> = {}): RuleSpec {
  return { name: "rule", hooks: [HOOK], until: [...until], retryAfterSeconds: LONG_RETRY, ...more };
}

const approved: GateSpec = { name: "approved", annotation: { key: APPROVED } };

const fleet = await startFleet();
const { cp } = fleet;
after(async () => cp.stop());
const second = await startOperator(cp, { name: "second" });

describe("time", () => {
  /** A Cluster that the policy "p" of the namespace holds before it is created. */
  async function held(namespace: string, until: readonly GateSpec[], more?: Partial<RuleSpec>): Promise<Ref> {
    const ref = policyRef(namespace, "p");
    await applyPolicy(cp, ref, { rules: [rule(until, more)] });
    await createCluster(cp, { namespace, name: "c1" });
    await policyRow(cp, ref, "c1", HOOK);
    return ref;
  }

  async function ask(namespace: string, operator: Operator = fleet.operator): Promise<number> {
    const cluster = await cp.get(clusterRef(namespace, "c1"));
    return (await operator.ask(HOOK, { cluster })).retryAfterSeconds ?? -1;
  }

  /** The other operator may have written the status that was waited for. */
  async function metricIs(value: number, name: string, ...labels: readonly string[]): Promise<void> {
    const is = async (): Promise<boolean> => (await fleet.operator.metric(name, ...labels)) === value;
    await cp.waitFor(`${name} of ${labels.join()} to be ${value}`, is);
  }

  describe("with two operators, of which Cluster API asks one", { concurrency: true }, () => {
    test("opens a window for a held Cluster, and closes it again", async () => {
      const [opens, closes] = [inSeconds(40), inSeconds(65)];
      const window = {
        allow: [{ from: opens, to: inSeconds(600) }],
        deny: [{ from: closes, to: inSeconds(900) }],
      };
      const ref = await held("window", [{ name: "night", window }]);
      const row = await policyRow(cp, ref, "c1", HOOK);
      assert.deepEqual([row.gate, row.reason, row.earliestRelease], ["night", "WindowClosed", opens]);
      assert.equal(statusOf(await cp.get(ref)).nextTransitionTime, opens);
      assert.equal((await conditionIs(cp, ref, "Restrictive", "OpensByTime")).status, "False");
      await metricIs(0, "hookpolicy_window_open", 'namespace="window"');
      await topologySays(
        cp,
        "window",
        "c1",
        new RegExp(`gate night waits for its window, which opens at ${opens}`),
      );
      const retry = await ask("window");
      assert.ok(
        retry >= 1 && retry <= Math.ceil(untilTime(opens) / 1000) + 1,
        `bounded by the edge: ${retry}`,
      );
      await isNotCreated(cp, "window", "c1");

      await isCreated(cp, "window", "c1");
      assert.ok((await resultOf(cp, ref, "c1")).time >= opens, "not before the window opens");
      await cp.waitFor(
        "the next edge",
        async () => statusOf(await cp.get(ref)).nextTransitionTime === closes,
      );
      await metricIs(1, "hookpolicy_window_open", 'namespace="window"');
      assert.match(
        (await eventAbout(cp, ref, "WindowOpened"))["note"],
        new RegExp(`open since ${opens}, until ${closes}`),
      );

      const closed = await eventAbout(cp, ref, "WindowClosed");
      assert.match(closed["note"], new RegExp(`closed since ${closes}, for good`));
      await metricIs(0, "hookpolicy_window_open", 'namespace="window"');
      await conditionIs(cp, ref, "Restrictive", "ActionRequired");
      await createCluster(cp, { namespace: "window", name: "late" });
      const late = await policyRow(cp, ref, "late", HOOK);
      assert.equal(late.earliestRelease, undefined);
      await topologySays(cp, "window", "late", /its window, which does not open again/);
    });

    test("counts a wait from the moment when all other gates are met, and anew when they did not", async () => {
      // Nothing foretells an approval, so Cluster API has to ask again by itself.
      const gates = [approved, { name: "soak", wait: { duration: "30s" } }];
      const ref = await held("wait", gates, { retryAfterSeconds: 5 });
      assert.equal((await policyRow(cp, ref, "c1", HOOK)).timers, undefined);
      await approve(cp, "wait", "c1");
      const first = await running(ref);
      await cp.patch(clusterRef("wait", "c1"), { metadata: { annotations: { [APPROVED]: null } } });
      await cp.waitFor(
        "the wait to stop",
        async () => (await policyRow(cp, ref, "c1", HOOK)).timers === undefined,
      );
      // Times have no fractions of a second.
      await cp.waitFor("a later second", () => Date.now() >= Date.parse(first.since) + 1000);
      await approve(cp, "wait", "c1");
      const again = await running(ref);
      assert.ok(again.since > first.since, `counts anew: ${first.since}, ${again.since}`);
      assert.equal(Date.parse(again.release) - Date.parse(again.since), 30_000);
      await isCreated(cp, "wait", "c1");
      const { reason, time } = await resultOf(cp, ref, "c1");
      assert.equal(reason, "GatesHold");
      assert.ok(time >= again.release, "not before the wait has passed");
    });

    async function running(ref: Ref): Promise<{ since: string; release: string }> {
      return await cp.waitFor("the wait to run", async () => {
        const row = await policyRow(cp, ref, "c1", HOOK);
        const since = row.timers?.[0]?.gatesMetSince;
        if (since === undefined || row.earliestRelease === undefined) return undefined;
        assert.deepEqual([row.gate, row.reason], ["soak", "WaitPending"]);
        return { since, release: row.earliestRelease };
      });
    }

    test("lets a Cluster go at a deadline that says so", async () => {
      const ref = await held("deadline", [approved], { deadline: { after: "40s", onExpiry: "Allow" } });
      const row = await policyRow(cp, ref, "c1", HOOK);
      const blockedSince = row.timers?.[0]?.blockedSince ?? "";
      const later = (ms: number): string =>
        new Date(Date.parse(blockedSince) + ms).toISOString().replace(".000Z", "Z");
      const deadline = later(40_000);
      assert.equal(row.earliestRelease, deadline);
      assert.equal((await conditionIs(cp, ref, "Restrictive", "OpensByTime")).status, "False");
      // The answer is of the other operator, which may have seen the Cluster some seconds later.
      const times = [40, 41, 42, 43, 44, 45].map((seconds) => later(seconds * 1000));
      const proceeds = new RegExp(`this rule releases it at (${times.join("|")})`);
      await topologySays(cp, "deadline", "c1", proceeds);
      await isNotCreated(cp, "deadline", "c1");
      await isCreated(cp, "deadline", "c1");
      const { reason, verdict, time } = await resultOf(cp, ref, "c1");
      assert.deepEqual([verdict, reason], ["Allowed", "DeadlineExpired"]);
      assert.ok(time >= deadline, "not before the deadline");
      const about = { kind: "Cluster", namespace: "deadline", name: "c1" };
      const approaching = await eventAbout(cp, about, "DeadlineApproaching");
      assert.match(
        approaching["note"],
        /^BeforeClusterCreate is held by HookPolicy deadline\/p, rule rule; [58]0 %/,
      );
      assert.match(
        (await eventAbout(cp, about, "DeadlinePassed"))["note"],
        / until its deadline, .*: this rule does not hold it any more$/,
      );
    });

    test("goes on holding a Cluster at a deadline that says so, and tells", async () => {
      const ref = await held("kept", [approved], { deadline: { after: "4s", onExpiry: "KeepBlocking" } });
      const about = { kind: "Cluster", namespace: "kept", name: "c1" };
      assert.equal((await policyRow(cp, ref, "c1", HOOK)).earliestRelease, undefined);
      assert.equal((await conditionIs(cp, ref, "Restrictive", "ActionRequired")).status, "True");
      assert.match(
        (await eventAbout(cp, about, "DeadlinePassed"))["note"],
        /is held by .*, although its deadline passed at 2/,
      );
      await metricIs(1, "hookpolicy_deadlines", 'namespace="kept"', 'passed="100"');
      const row = await cp.waitFor("the row to tell", async () => {
        const found = await policyRow(cp, ref, "c1", HOOK);
        return /the deadline passed at/.test(found.message) && found;
      });
      assert.equal(row.verdict, "Blocked");
      await topologySays(cp, "kept", "c1", /the deadline passed at 2/);
      await isNotCreated(cp, "kept", "c1");
      await approve(cp, "kept", "c1");
      await noRow(cp, ref, "c1", HOOK);
      await metricIs(0, "hookpolicy_deadlines", 'namespace="kept"');
    });

    test("foretells when windows, a wait and a deadline let a Cluster go", async () => {
      const [first, last] = [inSeconds(3600), inSeconds(7200)];
      const from = (at: string): WindowGateSpec => ({ allow: [{ from: at, to: inSeconds(9000) }] });
      const gates: GateSpec[] = [
        { name: "first", window: from(first) },
        { name: "second", window: from(last) },
        { name: "soak", wait: { duration: "10m" } },
      ];
      const ref = await held("forecast", gates);
      const foretold = async (release: (blockedSince: number) => number | undefined): Promise<void> => {
        await cp.waitFor(`${release.toString()} to be foretold`, async () => {
          const { earliestRelease, timers } = await policyRow(cp, ref, "c1", HOOK);
          const at = earliestRelease === undefined ? undefined : Date.parse(earliestRelease);
          return at === release(Date.parse(timers?.[0]?.blockedSince ?? ""));
        });
      };
      await foretold(() => Date.parse(last) + 600_000);
      assert.equal(statusOf(await cp.get(ref)).nextTransitionTime, first);
      assert.equal(condition(await cp.get(ref), "Restrictive")?.status, "False");
      await applyPolicy(cp, ref, { rules: [rule(gates, { deadline: { after: "30m", onExpiry: "Allow" } })] });
      await foretold((blockedSince) => blockedSince + 1_800_000);
      await applyPolicy(cp, ref, { rules: [rule([...gates, approved])] });
      await foretold(() => undefined);
      const { status, message } = await conditionIs(cp, ref, "Restrictive", "ActionRequired");
      assert.equal(status, "True");
      assert.match(message, /Time alone never releases what these rules hold: rule/);
    });

    test("is the same for two operators, which write nothing at rest", async () => {
      const { operator } = fleet;
      const gates: GateSpec[] = [
        { name: "night", window: { allow: [{ from: inSeconds(900), to: inSeconds(1800) }] } },
      ];
      const deadline = { after: "1h", onExpiry: "Allow" } as const;
      await held("pair-window", gates, { deadline });
      await held("pair-wait", [{ name: "soak", wait: { duration: "20m" } }], { deadline });
      await held("pair-both", [approved, { name: "soak", wait: { duration: "20m" } }], { deadline });
      await approve(cp, "pair-both", "c1");
      const namespaces = ["pair-window", "pair-wait", "pair-both"];
      const messages = async (one: Operator): Promise<(string | undefined)[]> =>
        await Promise.all(
          namespaces.map(async (namespace) => {
            const cluster = await cp.get(clusterRef(namespace, "c1"));
            return (await one.ask(HOOK, { cluster })).message;
          }),
        );
      const versions = async (): Promise<(string | undefined)[]> =>
        await Promise.all(
          namespaces.map(
            async (namespace) => (await cp.get(policyRef(namespace, "p"))).metadata.resourceVersion,
          ),
        );
      // Both are asked before either has read what the other one has written.
      await Promise.all([messages(operator), messages(second)]);
      await cp.waitFor("both to say the same", async () => {
        const [a, b] = await Promise.all([messages(operator), messages(second)]);
        return JSON.stringify(a) === JSON.stringify(b);
      });
      const settled = await atRest(cp, versions);
      const said = await messages(operator);
      await holdsFor(15_000, async () => {
        assert.deepEqual(await messages(second), said);
        assert.deepEqual(await messages(operator), said);
        assert.deepEqual(await versions(), settled);
      });
    });
  });

  test("goes on counting while the operator is killed and started again", async () => {
    await second.daemon.stop();
    const ref = await held("killed", [approved], { deadline: { after: "40s", onExpiry: "Allow" } });
    const row = await policyRow(cp, ref, "c1", HOOK);
    const deadline = row.earliestRelease ?? "";
    await restartOperator(fleet, {}, "SIGKILL");
    assert.ok((await ask("killed")) > 0);
    const adopted = await policyRow(cp, ref, "c1", HOOK);
    assert.deepEqual(adopted, row);
    await isNotCreated(cp, "killed", "c1");
    // Only Cluster API is asked what happens now: a call about a Cluster that it has created begins another operation.
    await isCreated(cp, "killed", "c1");
    const { reason, time } = await resultOf(cp, ref, "c1");
    assert.equal(reason, "DeadlineExpired");
    assert.ok(time >= deadline, "not before the deadline");
    const passed = await eventAbout(
      cp,
      { kind: "Cluster", namespace: "killed", name: "c1" },
      "DeadlinePassed",
    );
    assert.match(passed["note"], new RegExp(` until its deadline, ${deadline}: `), "and not counted anew");
  });
});
