/** The table of rules in docs/decisions.md: each row is a case here, and each case is a row there. */

import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import test from "node:test";
import type { GateSpec, RuleSpec } from "../../src/api/hook-policy.ts";
import type { Cluster } from "../../src/api/meta.ts";
import type { PolicyObject } from "../../src/memory/policy-set.ts";
import type { Decision } from "../../src/policy/decision.ts";
import { compileRange } from "../../src/policy/version-range.ts";
import { compileWindow, type WindowState } from "../../src/policy/window/window.ts";
import { windowProblems } from "../../src/policy/window/window-check.ts";
import type { World } from "../../src/policy/world.ts";
import {
  APPROVED,
  at,
  cluster,
  gated,
  heldAt,
  hookPolicy,
  NOW,
  Operation,
  override,
  rule,
} from "./builders.ts";
import { entryOf, passTo, storeWith } from "./memory/fixtures.ts";

type Spec = Parameters<typeof hookPolicy>[0];

const closed: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const failing: GateSpec = { name: "failing", expression: "cluster.metadata.labels['no-such'] == ''" };
const soak: GateSpec = { name: "soak", wait: { duration: "10m" } };
const allow = { after: "1h", onExpiry: "Allow" } as const;
const approved: Partial<World> = { cluster: cluster({ annotations: { [APPROVED]: "" } }) };
const evaluable: Partial<World> = { cluster: cluster({ labels: { "no-such": "" } }) };
const observer: RuleSpec = { name: "observer", hooks: ["BeforeClusterDelete"] };
const deleting = cluster({ deletionTimestamp: "2026-11-21T11:00:00Z" });

const named = (name: string, spec: Spec): PolicyObject => hookPolicy(spec, { name, uid: `uid-${name}` });
const blocked = named("blocked", { rules: [rule({ until: [closed] })] });
const broken = named("broken", { rules: [rule({ until: [failing] })] });
const ignored = named("ignored", { failurePolicy: "Ignore", rules: [rule({ until: [failing] })] });
const audit = named("audit", { mode: "Audit", rules: [rule({ until: [closed] })] });
const observing = named("observing", { rules: [observer] });
const holding = named("holding", {
  rules: [rule({ until: [{ name: "yes", expression: "cluster.metadata.name != ''" }] })],
});

const decided = (...policies: readonly PolicyObject[]): Decision => new Operation(policies).at(NOW);
const verdict = (...policies: readonly PolicyObject[]): unknown => {
  const decision = decided(...policies);
  return [decision.verdict, decision.holds];
};
const [HOLDS, PROCEEDS] = [true, false];

/** Whether the rule holds at each of these times, each with what the world is then. */
function held(
  policy: PolicyObject,
  steps: readonly (readonly [offset: string, over?: Partial<World>])[],
): boolean[] {
  const operation = new Operation([policy]);
  return steps.map(([offset, over]) => operation.at(at(offset), over).holds);
}

const window = (schedule: string, now: string): WindowState =>
  compileWindow({ timeZone: "UTC", allow: [{ schedule, duration: "1h" }] }).at(new Date(now));

const CASES: Readonly<Record<string, () => void>> = {
  "The strictest policy that holds gives the verdict": () => {
    assert.deepEqual(verdict(broken, blocked), ["Blocked", HOLDS]);
    assert.deepEqual(verdict(broken, audit, observing, holding), ["NotEvaluable", HOLDS]);
    assert.deepEqual(verdict(ignored, audit, blocked), ["Blocked", HOLDS]);
  },
  "If no policy holds, the strictest of all does": () => {
    assert.deepEqual(verdict(ignored, audit, observing, holding), ["NotEvaluable", PROCEEDS]);
    assert.deepEqual(verdict(audit, observing, holding), ["WouldBlock", PROCEEDS]);
    assert.deepEqual(verdict(observing, holding), ["Observed", PROCEEDS]);
    assert.deepEqual(verdict(holding), ["Allowed", PROCEEDS]);
  },
  "An Audit rule that is not evaluable would block": () => {
    const rules = [rule({ until: [failing] })];
    assert.deepEqual(verdict(named("a", { mode: "Audit", rules })), ["WouldBlock", PROCEEDS]);
    const ignoring = named("a", { mode: "Audit", failurePolicy: "Ignore", rules });
    assert.deepEqual(verdict(ignoring), ["NotEvaluable", PROCEEDS]);
  },
  "Within a policy, Allowed hides Observed": () => {
    const both = named("both", { rules: [observer, ...holding.spec.rules] });
    assert.deepEqual(verdict(both), ["Allowed", PROCEEDS]);
  },
  "Across policies, Observed hides Allowed": () => {
    assert.deepEqual(verdict(holding, observing), ["Observed", PROCEEDS]);
  },
  "`retryAfterSeconds` is cut to the next edge": () => {
    const opening = gated(
      [{ name: "w", window: { allow: [{ from: "2026-11-21T12:00:30Z", to: "2027-01-01T00:00:00Z" }] } }],
      {
        retryAfterSeconds: 300,
      },
    );
    const retryAt = (offset: string): number => new Operation([opening]).at(at(offset)).retryAfterSeconds;
    assert.deepEqual([retryAt("-1h"), retryAt("+0s"), retryAt("+29s")], [300, 30, 1]);
  },
  "The first block starts a deadline": () => {
    const policy = gated([closed], { deadline: allow });
    assert.deepEqual(held(policy, [["+0s"], ["+59m"], ["+60m"]]), [HOLDS, HOLDS, PROCEEDS]);
  },
  "A hold that is not evaluable starts none": () => {
    const policy = gated([failing], { deadline: allow });
    const wrong = { cluster: cluster({ labels: { "no-such": "x" } }) };
    assert.deepEqual(held(policy, [["+0s"], ["+2h"], ["+2h", wrong], ["+179m", wrong], ["+3h", wrong]]), [
      HOLDS,
      HOLDS,
      HOLDS,
      HOLDS,
      PROCEEDS,
    ]);
  },
  "A block that an override covers starts one": () => {
    const policy = gated([closed], { deadline: allow });
    const overrides = [override({ expiresAt: at("+30m").toISOString() })];
    assert.deepEqual(held(policy, [["+0s", { overrides }], ["+31m", { overrides }], ["+60m"]]), [
      PROCEEDS,
      HOLDS,
      PROCEEDS,
    ]);
  },
  "A deletion needs no call": () => {
    const deadline = gated([closed], { deadline: allow });
    const fixture = storeWith({ policies: [deadline], clusters: [deleting] });
    passTo(fixture, at("+1h"));
    const [row] = entryOf(fixture, deadline).held.values();
    assert.equal(row?.reason, "DeadlineExpired");
    const waiting = gated([{ name: "soak", wait: { duration: "90m" } }]);
    const began = at("-60m").toISOString();
    const waits = storeWith({ policies: [waiting], clusters: [cluster({ deletionTimestamp: began })] });
    const [wait] = entryOf(waits, waiting).held.values();
    assert.equal(wait?.earliestRelease, "2026-11-21T13:30:00Z");
  },
  "A gate that is not evaluable keeps the deadline from releasing": () => {
    const policy = gated([closed, failing], { deadline: allow });
    assert.deepEqual(held(policy, [["+0s"], ["+2h"], ["+2h", evaluable]]), [HOLDS, HOLDS, PROCEEDS]);
  },
  "`until: [wait, failing expression]` is released by neither `Ignore` nor a deadline": () => {
    const rules = [rule({ until: [failing, soak], deadline: allow })];
    const policy = named("a", { failurePolicy: "Ignore", rules });
    assert.deepEqual(verdict(policy), ["Blocked", HOLDS]);
    assert.deepEqual(held(policy, [["+0s"], ["+2d"]]), [HOLDS, HOLDS]);
    assert.deepEqual(verdict(ignored), ["NotEvaluable", PROCEEDS]);
  },
  "A break or an edit of the gates restarts `wait` alone": () => {
    const policy = gated([closed, soak], { deadline: allow });
    assert.deepEqual(
      held(policy, [["+0s", approved], ["+9m"], ["+10m", approved], ["+19m", approved], ["+20m", approved]]),
      [HOLDS, HOLDS, HOLDS, HOLDS, PROCEEDS],
    );
    assert.deepEqual(held(policy, [["+0s", approved], ["+9m"], ["+55m", approved], ["+60m", approved]]), [
      HOLDS,
      HOLDS,
      HOLDS,
      PROCEEDS,
    ]);
    const yes: GateSpec = { name: "yes", expression: "cluster.metadata.name != ''" };
    const waiting = gated([soak]);
    const fixture = storeWith({
      policies: [waiting],
      clusters: [cluster({ deletionTimestamp: NOW.toISOString() })],
    });
    passTo(fixture, at("+5m"));
    const edited = gated([yes, soak]);
    const metadata = { ...edited.metadata, generation: 2 };
    fixture.setPolicy({ ...edited, metadata });
    passTo(fixture, at("+14m"));
    assert.equal([...entryOf(fixture, waiting).held.values()][0]?.reason, "WaitPending");
    passTo(fixture, at("+15m"));
    assert.equal([...entryOf(fixture, waiting).held.values()][0]?.reason, "GatesHold");
  },
  "A rule that is not evaluated as a whole restarts both": () => {
    const large: Partial<World> = { cluster: { ...cluster(), tooLarge: true } };
    const waited = held(gated([closed, soak]), [
      ["+0s", approved],
      ["+9m", large],
      ["+10m", approved],
      ["+19m", approved],
      ["+20m", approved],
    ]);
    assert.deepEqual(waited, [HOLDS, HOLDS, HOLDS, HOLDS, PROCEEDS]);
    const policy = gated([closed], { deadline: allow });
    const expired = held(policy, [["+0s"], ["+50m", large], ["+51m"], ["+110m"], ["+111m"]]);
    assert.deepEqual(expired, [HOLDS, HOLDS, HOLDS, HOLDS, PROCEEDS]);
  },
  "Another mode, policy or operation restarts both": () => {
    const policy = gated([closed], { deadline: allow });
    const cooling = gated([{ name: "cool", wait: { duration: "1h" } }]);
    const reasonAfter = (
      before: PolicyObject,
      spec: PolicyObject["spec"],
      uid = before.metadata.uid,
    ): string | undefined => {
      const fixture = storeWith({ policies: [before], clusters: [deleting] });
      passTo(fixture, at("+50m"));
      if (uid !== before.metadata.uid) fixture.deletePolicy(before);
      const metadata = { ...before.metadata, uid, generation: 2 };
      fixture.setPolicy({ ...before, metadata, spec } as PolicyObject);
      passTo(fixture, at("+61m"));
      const now = { ...before, metadata } as PolicyObject;
      return [...entryOf(fixture, now).held.values()][0]?.reason;
    };
    const editedTo = (spec: PolicyObject["spec"], uid?: string): boolean =>
      reasonAfter(policy, spec, uid) !== "DeadlineExpired";
    assert.equal(reasonAfter(cooling, cooling.spec), "GatesHold");
    assert.equal(reasonAfter(cooling, { ...cooling.spec, mode: "Audit" }), "WaitPending");
    assert.equal(reasonAfter(cooling, cooling.spec, "another"), "WaitPending");
    const [first] = policy.spec.rules;
    assert.ok(first);
    const [proceeds, restarts] = [false, true];
    assert.equal(editedTo(policy.spec), proceeds);
    const other: GateSpec = { name: "other", annotation: { key: "other" } };
    assert.equal(editedTo({ ...policy.spec, rules: [{ ...first, until: [other] }] }), proceeds);
    assert.equal(editedTo({ ...policy.spec, rules: [{ ...first, message: "ask" }] }), proceeds);
    assert.equal(editedTo({ ...policy.spec, mode: "Audit" }), restarts);
    assert.equal(editedTo(policy.spec, "another"), restarts);
    const upgrade = gated([closed], { hooks: ["BeforeClusterUpgrade"], deadline: allow });
    const to = (version: string): Cluster =>
      heldAt("BeforeClusterUpgrade", cluster({}, { topology: { className: "lab", version } }));
    const fixture = storeWith({ policies: [upgrade], clusters: [to("v1.35.0")] });
    passTo(fixture, at("+50m"));
    fixture.setCluster(to("v1.36.0"));
    passTo(fixture, at("+61m"));
    assert.equal([...entryOf(fixture, upgrade).held.values()][0]?.verdict, "Blocked");
  },
  "Day of month or day of week": () => {
    // 1 November 2026 is a Sunday, 2 November a Monday, 3 November a Tuesday.
    const open = [1, 2, 3].map((day) => window("0 0 1 * MON", `2026-11-0${day}T00:30:00Z`).open);
    assert.deepEqual(open, [true, true, false]);
  },
  "`*/n` beside another day is an error": () => {
    const spec = { timeZone: "UTC", allow: [{ schedule: "0 0 */2 * MON", duration: "1h" }] };
    assert.match(windowProblems(spec)[0]?.message ?? "", /is read in two ways; list the days$/);
    const alone = { timeZone: "UTC", allow: [{ schedule: "0 0 */2 * *", duration: "1h" }] };
    assert.deepEqual(windowProblems(alone), []);
  },
  "A pre-release lies in a range that names one of the same version": () => {
    const holds = (range: string, ...versions: readonly string[]): unknown =>
      versions.map((version) => compileRange(range)(version));
    assert.deepEqual(holds(">=1.34.0 <1.36.0", "v1.35.0", "v1.35.0-rc.1"), [true, false]);
    assert.deepEqual(holds(">=1.35.0-rc.1", "v1.35.0-rc.1", "v1.36.0-rc.1"), [true, false]);
    assert.deepEqual(holds("*", "v1.35.0+k3s1", "v1.35.0-rc.1"), [true, false]);
  },
  "The next change is any edge": () => {
    const untilNoon = { allow: [{ from: "2026-11-21T00:00:00Z", to: "2026-11-21T13:00:00Z" }] };
    const policy = gated([closed, { name: "w", window: untilNoon }], {
      deadline: { after: "2h", onExpiry: "KeepBlocking" },
    });
    const operation = new Operation([policy]);
    const changesAt = (offset: string): unknown => operation.at(at(offset)).trace[0]?.changesAt;
    assert.deepEqual(changesAt("+0s"), at("+1h"));
    assert.deepEqual(changesAt("+1h"), at("+2h"));
    assert.equal(changesAt("+2h"), undefined);
  },
};

for (const [name, check] of Object.entries(CASES)) test(name, check);

test("the table in docs/decisions.md has exactly these rules", () => {
  const page = readFileSync(join(import.meta.dirname, "../../docs/decisions.md"), "utf8");
  const [, section = ""] = page.split("\n## Rules in one table\n");
  const rows = (section.split("\n## ")[0] ?? "").split("\n").filter((line) => line.startsWith("| "));
  const rules = rows.slice(2).map((line) => line.split(" | ")[0]?.slice(2).trim());
  assert.deepEqual(rules, Object.keys(CASES));
});
