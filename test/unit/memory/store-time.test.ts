/** What the passing of time does to memory, without a call. */

import assert from "node:assert/strict";
import { timestamp } from "../../../src/lib/instant.ts";
import test, { describe } from "node:test";
import type { GateSpec } from "../../../src/api/hook-policy.ts";
import type { Cluster } from "../../../src/api/meta.ts";
import {
  APPROVED,
  at,
  cluster,
  DELETE,
  gated,
  hookOverride,
  hookPolicy,
  NOW,
  rule,
  UPGRADE,
  heldAt,
  scheduled,
} from "../builders.ts";
import { entryOf, type Fixture, keyOf, passTo, rowsOf, statusOf, storeWith } from "./fixtures.ts";

const DELETED_AT = "2026-11-21T11:00:00Z";
const deleting = cluster({ deletionTimestamp: DELETED_AT });
const approval: GateSpec = { name: "approved", annotation: { key: APPROVED } };
const daily = scheduled("daily", "0 22 * * *", "1h");

const told = ({ events }: Fixture): readonly string[] => events.map(({ note }) => note);
const change = (gate: string, is: "open" | "closed", from: string, until: string): string =>
  `Rule confirmed-delete, gate ${gate}: ${is} since ${timestamp(at(from))}, until ${timestamp(at(until))}`;

describe("a window", () => {
  test("that opens lets go, and one that closes holds, in the rows and in the status", () => {
    const policy = gated([daily]);
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    assert.deepEqual(
      rowsOf(fixture, policy).map(({ reason, earliestRelease, firstAsked }) => [
        reason,
        earliestRelease,
        firstAsked,
      ]),
      [["WindowClosed", "2026-11-21T22:00:00Z", DELETED_AT]],
    );
    assert.equal(statusOf(fixture, policy).nextTransitionTime, "2026-11-21T22:00:00Z");
    fixture.dirty.length = 0;
    passTo(fixture, new Date(at("+10h").getTime() - 1));
    assert.deepEqual([rowsOf(fixture, policy).length, fixture.dirty], [1, []]);
    passTo(fixture, at("+10h"));
    assert.deepEqual(rowsOf(fixture, policy), []);
    assert.ok(fixture.dirty.includes(keyOf(policy)));
    assert.equal(statusOf(fixture, policy).nextTransitionTime, "2026-11-21T23:00:00Z");
    passTo(fixture, at("+11h"));
    assert.deepEqual(
      rowsOf(fixture, policy).map(({ earliestRelease, since }) => [earliestRelease, since]),
      [["2026-11-22T22:00:00Z", "2026-11-21T23:00:00Z"]],
    );
  });

  test("is told of once when it opens and when it closes, whether anything waits for it or not", () => {
    const fixture = storeWith({ policies: [gated([daily])] });
    for (const offset of ["+1h", "+10h", "+10h", "+601m", "+11h"]) passTo(fixture, at(offset));
    assert.deepEqual(told(fixture), [
      change("daily", "open", "+10h", "+11h"),
      change("daily", "closed", "+11h", "+34h"),
    ]);
  });

  test("is not told of when only another one of the policy opens", () => {
    const early = scheduled("early", "0 13 * * *", "1h");
    const fixture = storeWith({ policies: [gated([daily, early])] });
    passTo(fixture, at("+1h"));
    assert.deepEqual(told(fixture), [change("early", "open", "+1h", "+2h")]);
  });

  test("that was edited has not opened or closed by time", () => {
    const fixture = storeWith({ policies: [gated([daily])] });
    const open = scheduled("daily", "0 12 * * *", "1h");
    const edited = hookPolicy(
      { rules: [rule({ until: [open] })] },
      { generation: 2, resourceVersion: "101" },
    );
    fixture.setPolicy(edited);
    assert.deepEqual(told(fixture), []);
    passTo(fixture, at("+1h"));
    assert.deepEqual(told(fixture), [change("daily", "closed", "+1h", "+24h")]);
  });

  test("is followed although its edge passes before everything was read", () => {
    const policy = gated([daily]);
    const fixture = storeWith({ policies: [policy], clusters: [deleting], load: false });
    passTo(fixture, at("+10h"));
    fixture.store.load();
    passTo(fixture, at("+11h"));
    assert.equal(told(fixture).length, 2);
    assert.equal(rowsOf(fixture, policy).length, 1);
  });

  test("of a policy that is gone is not followed any more", () => {
    const fixture = storeWith({ policies: [gated([daily])] });
    fixture.deletePolicy(gated([daily]));
    passTo(fixture, at("+10h"));
    assert.deepEqual(told(fixture), []);
  });
});

test("a row says anew when time releases it, when another rule than the one that it shows lets go", () => {
  const rules = [rule({ until: [daily] }), rule({ name: "second", until: [approval] })];
  const policy = hookPolicy({ rules });
  const fixture = storeWith({ policies: [policy], clusters: [deleting] });
  const releases = (): unknown =>
    rowsOf(fixture, policy).map(({ rule: of, earliestRelease }) => [of, earliestRelease]);
  assert.deepEqual(releases(), [["confirmed-delete", undefined]]);
  fixture.setCluster(
    cluster({ ...deleting.metadata, annotations: { [APPROVED]: "" }, resourceVersion: "101" }),
  );
  assert.deepEqual(releases(), [["confirmed-delete", "2026-11-21T22:00:00Z"]]);
});

describe("an edge", () => {
  test("of one policy is not lost when another one of the same Cluster is looked at just then", () => {
    const one = gated([daily]);
    const other = hookPolicy(
      { rules: [rule({ until: [{ ...daily, name: "other" }] })] },
      { name: "other", uid: "o" },
    );
    const fixture = storeWith({ policies: [one, other], clusters: [deleting] });
    fixture.clock.now = at("+10h");
    const { status: _, ...rest } = one;
    const decisions = statusOf(fixture, one).decisions ?? [];
    fixture.setPolicy({
      ...rest,
      metadata: { ...rest.metadata, resourceVersion: "101" },
      status: { observedGeneration: 1, decisions },
    });
    fixture.store.wake();
    assert.deepEqual([rowsOf(fixture, one), rowsOf(fixture, other)], [[], []]);
  });

  test("that ten thousand Clusters wait for is worked off in turns, and reaches all of them", async () => {
    const policy = gated([daily]);
    const clusters = Array.from({ length: 50 }, (_, n) =>
      cluster({ name: `c${n}`, uid: `u${n}`, deletionTimestamp: DELETED_AT }),
    );
    const fixture = storeWith({ policies: [policy], clusters, turnMs: -1 });
    while (rowsOf(fixture, policy).length < clusters.length) fixture.store.wake();
    passTo(fixture, at("+10h"));
    assert.ok(rowsOf(fixture, policy).length > 40, "not all of them in one turn");
    while (rowsOf(fixture, policy).length > 0) await new Promise(setImmediate);
  });

  test("is not missed when the clock is set forward, nor taken for passed when it is set back", () => {
    const policy = gated([daily]);
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    passTo(fixture, at("-5h"));
    passTo(fixture, at("+609m"));
    assert.deepEqual(rowsOf(fixture, policy), []);
    passTo(fixture, at("-5h"));
    passTo(fixture, at("+60h"));
    assert.equal(rowsOf(fixture, policy).length, 1);
    assert.equal(rowsOf(fixture, policy)[0]?.earliestRelease, "2026-11-24T22:00:00Z");
  });
});

describe("an expression that reads the clock is looked at again within 10 seconds", () => {
  const clocked = "now >= timestamp('2026-11-21T13:00:00Z')";
  const soak: GateSpec = { name: "soak", wait: { duration: "10m" } };

  test("while a deadline runs that passes much later", () => {
    const policy = gated([{ name: "clock", expression: clocked }, soak], {
      deadline: { after: "24h", onExpiry: "Allow" },
    });
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    passTo(fixture, at("+1h"));
    assert.deepEqual(
      rowsOf(fixture, policy).map(({ reason, earliestRelease }) => [reason, earliestRelease]),
      [["WaitPending", "2026-11-21T13:10:00Z"]],
    );
  });

  test("if it is a match condition that was true", () => {
    const matchConditions = [{ name: "early", expression: `!(${clocked})` }];
    const policy = gated([approval], { matchConditions });
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    assert.equal(rowsOf(fixture, policy).length, 1);
    passTo(fixture, at("+1h"));
    assert.deepEqual(rowsOf(fixture, policy), []);
  });
});

describe("a wait", () => {
  const policy = gated([approval, { name: "soak", wait: { duration: "10m" } }]);
  const approved = (resourceVersion: string): Cluster =>
    cluster({ deletionTimestamp: DELETED_AT, annotations: { [APPROVED]: "" }, resourceVersion });

  test("begins when its gates are met, without a call, and lets go by itself", () => {
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    passTo(fixture, at("+1h"));
    fixture.setCluster(approved("101"));
    assert.deepEqual(
      rowsOf(fixture, policy).map(({ reason, earliestRelease, timers }) => [reason, earliestRelease, timers]),
      [
        [
          "WaitPending",
          "2026-11-21T13:10:00Z",
          [{ rule: "confirmed-delete", gatesMetSince: "2026-11-21T13:00:00Z" }],
        ],
      ],
    );
    passTo(fixture, at("+70m"));
    assert.deepEqual(
      rowsOf(fixture, policy).map(({ holds, verdict }) => [holds, verdict]),
      [[false, "Allowed"]],
    );
  });

  test("that has passed does not begin again by a restart, while another policy holds", () => {
    const alone = gated([{ name: "soak", wait: { duration: "10m" } }]);
    const fixture = storeWith({ policies: [alone], clusters: [deleting] });
    passTo(fixture, at("+10m"));
    const status = statusOf(fixture, alone);
    const again = storeWith({ policies: [{ ...alone, status }], clusters: [deleting] });
    passTo(again, at("+11m"));
    assert.equal(again.store.decider.ask({ call: DELETE, cluster: deleting }, at("+11m")).holds, false);
    assert.deepEqual(statusOf(again, alone).decisions?.[0]?.timers, status.decisions?.[0]?.timers);
  });

  test("does not become shorter by a restart, nor by calls", () => {
    const fixture = storeWith({ policies: [policy], clusters: [approved("101")] });
    const { decisions = [] } = statusOf(fixture, policy);
    const again = storeWith({
      policies: [{ ...policy, status: { observedGeneration: 1, decisions } }],
      clusters: [approved("101")],
    });
    passTo(again, at("+9m"));
    for (const second of [0, 10, 20, 59]) {
      const now = new Date(at("+9m").getTime() + second * 1000);
      again.clock.now = now;
      assert.equal(again.store.decider.ask({ call: DELETE, cluster: approved("101") }, now).holds, true);
    }
    again.clock.now = at("+10m");
    assert.equal(
      again.store.decider.ask({ call: DELETE, cluster: approved("101") }, at("+10m")).holds,
      false,
    );
  });

  test("of an upgrade that was asked for before begins again with another target", () => {
    const soak = gated([{ name: "soak", wait: { duration: "10m" } }], { hooks: ["BeforeClusterUpgrade"] });
    const wanting = (version: string, resourceVersion: string): Cluster =>
      cluster({ resourceVersion }, { topology: { className: "lab", version } });
    const fixture = storeWith({ policies: [soak] });
    const asks = (version: string, resourceVersion: string, now: Date): boolean => {
      fixture.clock.now = now;
      const on = heldAt("BeforeClusterUpgrade", wanting(version, resourceVersion));
      fixture.setCluster(on);
      return fixture.store.decider.ask(
        { call: { ...UPGRADE, toKubernetesVersion: version }, cluster: on },
        now,
      ).holds;
    };
    assert.equal(asks("v1.35.0", "101", NOW), true);
    assert.equal(asks("v1.36.0", "102", at("+20m")), true);
    assert.equal(asks("v1.36.0", "103", at("+30m")), false);
    assert.equal(asks("v1.35.0", "104", at("+31m")), true);
  });
});

describe("a deadline", () => {
  const policy = gated([approval], { deadline: { after: "100m", onExpiry: "Allow" } });
  const steps = ({ events }: Fixture): unknown[] =>
    events.map(({ identity, note }) => [
      identity.split(" ").at(-1),
      /releases it then|not hold it any more/.test(note),
    ]);

  test("is told of at 50, 80 and 100 % of its time, each once, and lets go", () => {
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    for (let minute = 0; minute <= 101; minute += 1) {
      const now = at(`+${minute}m`);
      passTo(fixture, now);
      fixture.store.decider.ask({ call: DELETE, cluster: deleting }, now);
      if (minute === 79) assert.deepEqual(steps(fixture), [["50", true]]);
    }
    assert.deepEqual(steps(fixture), [
      ["50", true],
      ["80", true],
      ["100", true],
    ]);
    assert.deepEqual(
      rowsOf(fixture, policy).map(({ verdict, reason, holds }) => [verdict, reason, holds]),
      [["Allowed", "DeadlineExpired", false]],
    );
  });

  test("is warned of at the time that its rule says, once, instead of after parts of its time", () => {
    const own = gated([approval], {
      deadline: { after: "100m", onExpiry: "KeepBlocking", warnBefore: "5m" },
    });
    const fixture = storeWith({ policies: [own], clusters: [deleting] });
    for (const minute of [50, 80, 94]) passTo(fixture, at(`+${minute}m`));
    assert.deepEqual(steps(fixture), []);
    assert.deepEqual(
      [...(entryOf(fixture, own).deadlines.values().next().value ?? [])],
      [["confirmed-delete", 0]],
    );
    passTo(fixture, at("+96m"));
    assert.deepEqual(
      [...(entryOf(fixture, own).deadlines.values().next().value ?? [])],
      [["confirmed-delete", "Near"]],
    );
    for (const minute of [97, 100, 101]) passTo(fixture, at(`+${minute}m`));
    assert.deepEqual(steps(fixture), [
      ["Near", false],
      ["100", false],
    ]);
  });

  test("an edit of when to warn does not start the deadline again", () => {
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    const { metadata } = policy;
    passTo(fixture, at("+40m"));
    const [first] = policy.spec.rules;
    assert.ok(first);
    const rules = [{ ...first, deadline: { after: "100m", onExpiry: "Allow" as const, warnBefore: "30m" } }];
    fixture.setPolicy({
      ...policy,
      metadata: { ...metadata, generation: 2 },
      spec: { ...policy.spec, rules },
    } as typeof policy);
    passTo(fixture, at("+70m"));
    assert.deepEqual(steps(fixture), [["Near", true]]);
  });

  test("is told of by the clock alone", () => {
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    for (const minute of [50, 80, 100]) passTo(fixture, at(`+${minute}m`));
    assert.equal(fixture.events.length, 3);
  });

  test("does not begin again by a restart, and steps of long ago are not told of again", () => {
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    const { decisions = [] } = statusOf(fixture, policy);
    const again = storeWith({ policies: [], clusters: [deleting] });
    again.clock.now = at("+95m");
    again.setPolicy({ ...policy, status: { observedGeneration: 1, decisions } });
    assert.deepEqual(steps(again), []);
    passTo(again, at("+100m"));
    assert.deepEqual(steps(again), [["100", true]]);
  });

  test("steps that were passed just before a restart are told of, so that none is lost", () => {
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    const { decisions = [] } = statusOf(fixture, policy);
    const again = storeWith({ policies: [], clusters: [deleting] });
    again.clock.now = at("+85m");
    again.setPolicy({ ...policy, status: { observedGeneration: 1, decisions } });
    assert.deepEqual(steps(again), [["80", true]]);
  });

  test("is not told of while an override lets the operation go on, nor of an Audit policy", () => {
    const audit = { ...policy, spec: { ...policy.spec, mode: "Audit" } } as typeof policy;
    const overrides = [hookOverride({ expiresAt: at("+90m").toISOString() })];
    const overridden = storeWith({ policies: [policy], clusters: [deleting], overrides });
    for (const minute of [50, 80]) passTo(overridden, at(`+${minute}m`));
    assert.deepEqual(overridden.events, []);
    const audited = storeWith({ policies: [audit], clusters: [deleting] });
    for (const minute of [50, 80, 100]) passTo(audited, at(`+${minute}m`));
    assert.deepEqual(audited.events, []);
  });

  test("counts for one operation at a time, and is forgotten with it", () => {
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    assert.equal(entryOf(fixture, policy).deadlines.size, 1);
    fixture.setCluster(undefined, "team-a/prod-1");
    assert.equal(entryOf(fixture, policy).deadlines.size, 0);
    passTo(fixture, at("+50m"));
    assert.deepEqual(fixture.events, []);
  });
});

test("a hold is told as a warning once less than warnBefore is left until its deadline", () => {
  const deadline = { after: "100m", onExpiry: "KeepBlocking", warnBefore: "30m" } as const;
  const typesOf = (backAt: string): string[] => {
    const policy = gated([approval], { deadline });
    const fixture = storeWith({ policies: [policy], clusters: [deleting] });
    passTo(fixture, at("+10m"));
    const { deletionTimestamp } = deleting.metadata;
    const approved = cluster({
      ...(deletionTimestamp !== undefined && { deletionTimestamp }),
      annotations: { [APPROVED]: "x" },
    });
    fixture.setCluster(approved);
    passTo(fixture, at(backAt));
    fixture.setCluster(deleting);
    return fixture.holds.map(({ reason, type }) => `${reason} ${type}`);
  };
  assert.deepEqual(typesOf("+69m"), ["Held Normal", "Held Normal"]);
  assert.deepEqual(typesOf("+71m"), ["Held Normal", "Held Warning"]);
});
