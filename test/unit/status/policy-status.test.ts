/** The status as a function of what is known, what is stored and the time. */

import assert from "node:assert/strict";
import test, { describe } from "node:test";
import * as fc from "fast-check";
import type { HookPolicyStatus } from "../../../src/api/hook-policy.ts";
import type { PolicyRow } from "../../../src/operations/rows.ts";
import { computeStatus, type StatusInput } from "../../../src/status/policy-status.ts";
import { servedHooks } from "../../../src/api/hook-catalog.ts";
import { compilePolicy } from "../../../src/policy/compile.ts";
import { compiled, hookPolicy, NOW, rule } from "../builders.ts";
import { runs } from "../../generated.ts";
import { rowSetsOf, NOTHING_KNOWN } from "../../../src/memory/policy-entry.ts";
import { OBJECTS_NOT_LOADED } from "../../../src/policy/watched-objects.ts";

const LATER = new Date("2026-11-21T18:00:00Z");

function row(over: Partial<PolicyRow> = {}): PolicyRow {
  return {
    namespace: "team-a",
    cluster: "prod-1",
    clusterUID: "uid-prod-1",
    hook: "BeforeClusterDelete",
    verdict: "Blocked",
    rule: "confirmed-delete",
    gate: "approved",
    reason: "WaitingForAnnotation",
    message: "gate approved waits for …",
    firstAsked: "2026-11-21T11:00:00Z",
    since: "2026-11-21T11:00:00Z",
    holds: true,
    basis: "",
    ...over,
  };
}

function input(over: Partial<StatusInput> = {}): StatusInput {
  return {
    policy: compiled(hookPolicy()),
    stored: { observedGeneration: -1 },
    matchedClusters: 3,
    held: [],
    before: NOTHING_KNOWN,
    recent: [],
    ...over,
  };
}

const many = (count: number, over: Partial<PolicyRow> = {}): PolicyRow[] =>
  Array.from({ length: count }, (_, n) => row({ cluster: `c${n}`, clusterUID: `uid-${n}`, ...over }));

const ready = (status: HookPolicyStatus): string | undefined => condition(status, "Ready")?.status;
function condition(
  status: HookPolicyStatus,
  type: string,
): { status: string; reason: string; message: string } | undefined {
  return status.conditions?.find((c) => c.type === type);
}

test("the mode of a policy tells that it only observes", () => {
  const { until: _, ...observing } = rule();
  const modeOf = (...args: Parameters<typeof hookPolicy>): string | undefined =>
    computeStatus(input({ policy: compiled(hookPolicy(...args)) }), NOW).mode;
  assert.equal(modeOf(), "Enforce");
  assert.equal(modeOf({ mode: "Audit" }), "Audit");
  assert.equal(modeOf({ rules: [observing] }), "Observe");
  assert.equal(modeOf({ rules: [observing, rule({ name: "other" })] }), "Enforce");
  assert.equal(modeOf({ rules: [{ ...observing, hooks: ["BeforeClusterDelet" as never] }] }), "Enforce");
});

test("what prepare-uninstall has said of the operator ends with the first status of a new one", () => {
  const before = computeStatus(input(), NOW);
  const gone = { type: "Ready", status: "Unknown", reason: "OperatorGone", message: "gone" } as const;
  const stored = {
    ...before,
    conditions: [{ ...gone, observedGeneration: 1, lastTransitionTime: "2026-11-21T10:00:00Z" }],
  };
  const objectsUnavailable = { reason: OBJECTS_NOT_LOADED, message: "wait" };
  assert.equal(ready(computeStatus(input({ stored }), NOW)), "True");
  assert.equal(ready(computeStatus(input({ stored, objectsUnavailable }), NOW)), "False");
});

describe("the condition TornDown", () => {
  const tornDown = { reason: "OwnedObjectsDeleted", message: "LabCluster c1 is gone" } as const;
  const foreground = { reason: "ForegroundDeletion", message: "the garbage collector" } as const;

  test("names the Clusters, and is gone with the last of them", () => {
    const stored = computeStatus(
      input({ held: [row(), row({ clusterUID: "b", cluster: "b", tornDown })] }),
      NOW,
    );
    const found = condition(stored, "TornDown");
    assert.equal(found?.status, "True");
    assert.equal(found.reason, "OwnedObjectsDeleted");
    assert.equal(
      found.message,
      "Others delete what held Clusters own: team-a/b. Run hookpolicy explain for each",
    );
    assert.equal(ready(stored), "True");
    assert.equal(condition(computeStatus(input({ held: [row()], stored }), LATER), "TornDown"), undefined);
  });

  test("has the worst reason, and does not grow with the fleet", () => {
    const held = many(60, { tornDown });
    const status = computeStatus(
      input({
        matchedClusters: 61,
        held: [...held, row({ clusterUID: "z", cluster: "z", tornDown: foreground })],
      }),
      NOW,
    );
    const { reason, message = "" } = condition(status, "TornDown") ?? {};
    assert.equal(reason, "ForegroundDeletion");
    assert.match(message, / and 56 more\. Run/);
  });

  test("its rows come before those of a full status", () => {
    const held = [...many(60, { timers: [] }), row({ clusterUID: "z", cluster: "z", tornDown })];
    const { decisions } = computeStatus(input({ matchedClusters: 61, held }), NOW);
    assert.deepEqual(decisions?.[0]?.tornDown, tornDown);
  });

  test("stands while Clusters cannot be read", () => {
    const stored = computeStatus(input({ held: [row({ tornDown })] }), NOW);
    const clustersUnavailable = { reason: "ClustersForbidden", message: "no" };
    const later = computeStatus(input({ stored, clustersUnavailable }), LATER);
    assert.equal(condition(later, "TornDown")?.reason, "OwnedObjectsDeleted");
  });
});

describe("the condition NotCalled", () => {
  const because = { reason: "NotRegistered", message: "nobody asks" };
  const stored = computeStatus(input({ notCalled: because }), NOW);

  test("is there while nothing asks, beside Ready, and gone otherwise", () => {
    assert.deepEqual(
      { ...condition(stored, "NotCalled") },
      {
        type: "NotCalled",
        status: "True",
        ...because,
        observedGeneration: 1,
        lastTransitionTime: "2026-11-21T12:00:00Z",
      },
    );
    assert.equal(ready(stored), "True");
    assert.equal(condition(computeStatus(input({ stored }), LATER), "NotCalled"), undefined);
  });

  test("stands until it is known again", () => {
    const unknown = computeStatus(input({ stored, notCalled: "Unknown" }), LATER);
    assert.deepEqual(unknown, stored);
    assert.equal(condition(computeStatus(input({ notCalled: "Unknown" }), NOW), "NotCalled"), undefined);
  });

  test("does not depend on whether the policy can be evaluated", () => {
    const policy = compiled(hookPolicy({ rules: [rule({ hooks: [] })] }));
    const status = computeStatus(input({ policy, notCalled: because }), NOW);
    assert.deepEqual(
      status.conditions?.map(({ type }) => type),
      ["Ready", "Stalled", "NotCalled"],
    );
  });
});

describe("conditions", () => {
  test("a policy that blocks is Ready", () => {
    const status = computeStatus(input({ held: [row()] }), NOW);
    assert.equal(ready(status), "True");
    assert.equal(status.blocked, 1);
    assert.equal(status.observedGeneration, 1);
  });

  test("a spec that cannot be evaluated is Stalled with the path", () => {
    const policy = compiled(hookPolicy({ rules: [{ ...rule(), hooks: ["BeforeClusterDelet" as never] }] }));
    const status = computeStatus(input({ policy }), NOW);
    assert.equal(ready(status), "False");
    assert.equal(condition(status, "Stalled")?.reason, "InvalidSpec");
    assert.match(
      condition(status, "Ready")?.message ?? "",
      /spec\.rules\[0\]\.hooks\[0\].*BeforeClusterDelete/,
    );
  });

  test("a hook that this Cluster API version does not wait for is not enforceable", () => {
    const object = hookPolicy({ rules: [rule({ hooks: ["AfterClusterUpgrade", "BeforeWorkersUpgrade"] })] });
    const status = computeStatus(
      input({ policy: compilePolicy("HookPolicy", object, servedHooks(11)) }),
      NOW,
    );
    assert.equal(condition(status, "Ready")?.reason, "HookNotEnforceable");
    assert.match(condition(status, "Ready")?.message ?? "", /hooks\[0\].*1\.11.*hooks\[1\]/);
  });

  test("without Cluster API it is Reconciling, and the numbers stay what they were", () => {
    const stored = { observedGeneration: 1, matchedClusters: 7, blocked: 2, wouldBlock: 0 };
    const clustersUnavailable = { reason: "ClusterAPINotInstalled", message: "install Cluster API" };
    const status = computeStatus(input({ stored, clustersUnavailable }), NOW);
    assert.deepEqual([ready(status), condition(status, "Reconciling")?.status], ["False", "True"]);
    assert.deepEqual([status.matchedClusters, status.blocked], [7, 2]);
  });

  test("a cured policy has no Stalled condition left", () => {
    const broken = compiled(hookPolicy({ rules: [] }));
    const stored = computeStatus(input({ policy: broken }), NOW);
    assert.equal(condition(computeStatus(input({ stored }), LATER), "Stalled"), undefined);
  });

  test("the transition time moves only when the status does", () => {
    const first = computeStatus(input(), NOW);
    const second = computeStatus(input({ stored: first, held: [row()] }), LATER);
    assert.equal(second.conditions?.[0]?.lastTransitionTime, "2026-11-21T12:00:00Z");
    const broken = computeStatus(
      input({ stored: second, policy: compiled(hookPolicy({ rules: [] })) }),
      LATER,
    );
    assert.equal(broken.conditions?.[0]?.lastTransitionTime, "2026-11-21T18:00:00Z");
  });

  test("time alone never releases what an annotation holds", () => {
    assert.equal(condition(computeStatus(input(), NOW), "Restrictive")?.status, "True");
    const { until: _, ...observe } = rule();
    const policy = compiled(hookPolicy({ rules: [observe] }));
    assert.equal(condition(computeStatus(input({ policy }), NOW), "Restrictive")?.status, "False");
  });
});

describe("rows", () => {
  test("are at most 50, the oldest question first, and the counts stay exact", () => {
    const held = [
      ...many(199),
      row({ cluster: "oldest", clusterUID: "o", firstAsked: "2026-11-01T00:00:00Z" }),
    ];
    const status = computeStatus(input({ held }), NOW);
    assert.equal(status.decisions?.length, 50);
    assert.equal(status.decisions?.[0]?.cluster, "oldest");
    assert.deepEqual([status.blocked, status.decisionsOmitted], [200, 150]);
  });

  test("are the first 50 of all in one order, whatever order they come in", () => {
    const hour = (n: number): string => `2026-11-21T${String(n % 24).padStart(2, "0")}:00:00Z`;
    const rows = Array.from({ length: 120 }, (_, n) => {
      const [begun, soon] = [hour(Math.floor(n / 2)), n % 40 < 10];
      return row({
        namespace: `team-${n % 3}`,
        cluster: `c${n}`,
        clusterUID: `uid-${n}`,
        firstAsked: begun,
        ...(soon && { earliestRelease: hour(n), timers: [] }),
        ...(n % 40 === 11 && { timers: [] }),
      });
    });
    const key = ({ earliestRelease, timers, firstAsked, namespace, cluster }: PolicyRow): string =>
      [earliestRelease ?? (timers === undefined ? "9999" : "9998"), firstAsked, namespace, cluster].join(" ");
    const first = rows.toSorted((a, b) => (key(a) < key(b) ? -1 : 1)).slice(0, 50);
    for (const held of [
      rows,
      rows.toReversed(),
      first.toReversed(),
      [...rows.slice(60), ...rows.slice(0, 60)],
    ])
      assert.deepEqual(
        computeStatus(input({ held }), NOW).decisions?.map(({ cluster }) => cluster),
        first.map(({ cluster }) => cluster),
      );
  });

  test("with a running timer come first", () => {
    const timed = row({
      cluster: "timed",
      firstAsked: "2026-11-21T11:59:00Z",
      earliestRelease: "2026-11-22T00:00:00Z",
    });
    assert.equal(computeStatus(input({ held: [...many(3), timed] }), NOW).decisions?.[0]?.cluster, "timed");
  });

  test("of one Cluster on two hooks count as one Cluster", () => {
    const held = [row(), row({ hook: "BeforeClusterUpgrade" })];
    assert.equal(computeStatus(input({ held }), NOW).blocked, 1);
  });

  test("that are not evaluable under failurePolicy Ignore are shown and not counted as blocked", () => {
    const status = computeStatus(input({ held: [row({ verdict: "NotEvaluable", holds: false })] }), NOW);
    assert.deepEqual([status.decisions?.length, status.blocked], [1, 0]);
  });

  test("fit into 64 KiB at their longest", () => {
    const held = many(10_000, {
      message: "🐢".repeat(256),
      namespace: "n".repeat(63),
      cluster: "c".repeat(63),
      rule: "r".repeat(63),
      gate: "g".repeat(63),
    });
    const bytes = Buffer.byteLength(JSON.stringify(computeStatus(input({ held }), NOW)));
    assert.ok(bytes < 128 * 1024, `${bytes} bytes with four-byte characters`);
    const plain = held.map((r) => ({ ...r, message: "m".repeat(256) }));
    const usual = Buffer.byteLength(JSON.stringify(computeStatus(input({ held: plain }), NOW)));
    assert.ok(usual <= 64 * 1024, `${usual} bytes`);
  });
});

describe("recent results", () => {
  const result = (n: number, time = `2026-11-21T10:00:${String(n).padStart(2, "0")}Z`) =>
    ({
      namespace: "team-a",
      cluster: `c${n}`,
      clusterUID: `${n}`,
      hook: "BeforeClusterDelete",
      verdict: "Allowed",
      time,
    }) as const;

  test("keep the last ten, newest first", () => {
    const recent = Array.from({ length: 15 }, (_, n) => result(n));
    const status = computeStatus(input({ recent }), NOW);
    assert.deepEqual(
      status.recent?.map(({ cluster }) => cluster),
      [14, 13, 12, 11, 10, 9, 8, 7, 6, 5].map((n) => `c${n}`),
    );
  });

  test("reported by two replicas are one result", () => {
    const stored = computeStatus(input({ recent: [result(1)] }), NOW);
    const again = computeStatus(input({ stored, recent: [result(1, "2026-11-21T10:00:09Z")] }), NOW);
    assert.deepEqual(again.recent, stored.recent);
  });
});

describe("two replicas", () => {
  /** What a replica knows that was never asked: the rows of the stored status. */
  const shownOf = (stored: HookPolicyStatus, all: readonly PolicyRow[]): PolicyRow[] =>
    all.filter(({ clusterUID }) => stored.decisions?.some((shown) => shown.clusterUID === clusterUID));

  test("of which one knows only the rows do not correct each other's counts", () => {
    const all = many(200, { hook: "BeforeClusterUpgrade" });
    const stored = computeStatus(input({ held: all, matchedClusters: 300 }), NOW);
    const other = computeStatus(input({ stored, held: shownOf(stored, all), matchedClusters: 300 }), LATER);
    assert.deepEqual(other, stored);
  });

  test("agree after one of them has seen a Cluster go", () => {
    const all = many(200, { hook: "BeforeClusterUpgrade" });
    const stored = computeStatus(input({ held: all }), NOW);
    assert.equal(
      computeStatus(
        input({ stored, matchedClusters: 300, held: all.slice(1), before: rowSetsOf(all) }),
        LATER,
      ).blocked,
      199,
    );
    const shown = shownOf(stored, all);
    const rowsOnly = { held: shown.slice(1), before: rowSetsOf(shown), matchedClusters: 300 };
    assert.equal(computeStatus(input({ stored, ...rowsOnly }), LATER).blocked, 199);
  });

  test("do not correct each other's count of what would be blocked, either", () => {
    const all = many(60, { verdict: "WouldBlock", holds: false });
    const stored = computeStatus(input({ held: all, matchedClusters: 300 }), NOW);
    const other = computeStatus(input({ stored, held: shownOf(stored, all), matchedClusters: 300 }), LATER);
    assert.equal(other.wouldBlock, 60);
  });

  test("both restarted while the Clusters beyond the rows went: the counts come down to what is there", () => {
    const all = many(60);
    let stored = computeStatus(input({ held: all, matchedClusters: 300 }), NOW);
    const shown = shownOf(stored, all);
    for (let left = shown.length; left >= 0; left -= 1) {
      const before = rowSetsOf(shown.slice(0, left + 1));
      stored = computeStatus(
        input({ stored, held: shown.slice(0, left), before, matchedClusters: 300 }),
        LATER,
      );
    }
    assert.deepEqual([stored.blocked, stored.decisionsOmitted ?? 0], [0, 0]);
  });
});

test("computed again from what it gave, the status is the same: at rest nothing is written", () => {
  const rows = fc.array(
    fc.record({
      n: fc.nat(120),
      hook: fc.constantFrom("BeforeClusterDelete", "BeforeClusterUpgrade"),
      holds: fc.boolean(),
    }),
    { maxLength: 130 },
  );
  fc.assert(
    fc.property(rows, fc.nat(1e9), (generated, later) => {
      const held = generated.map(({ n, hook, holds }) =>
        row({
          cluster: `c${n}`,
          clusterUID: `uid-${n}`,
          hook: hook as "BeforeClusterDelete",
          holds,
          verdict: holds ? "Blocked" : "NotEvaluable",
        }),
      );
      const distinct = [...new Map(held.map((r) => [`${r.clusterUID}/${r.hook}`, r])).values()];
      const first = computeStatus(input({ held: distinct }), NOW);
      const second = computeStatus(
        input({ held: distinct.toReversed(), stored: first }),
        new Date(NOW.getTime() + later),
      );
      assert.deepEqual(second, first);
    }),
    runs(100),
  );
});
