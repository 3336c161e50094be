import assert from "node:assert/strict";
import test from "node:test";
import { clustersIn, emptyText, filterHeld, heldText, valuesOf } from "../../../src/page/held-rows.ts";
import type { HeldRow } from "../../../src/page/wire.ts";

function row(cluster: string, over: Partial<HeldRow> = {}): HeldRow {
  return {
    cluster,
    clusterUID: cluster,
    hook: "BeforeClusterUpgrade",
    policy: { kind: "HookPolicy", namespace: "team-a", name: "protect" },
    rule: "approval",
    verdict: "Blocked",
    reason: "WaitingForAnnotation",
    message: "Ask the platform team",
    firstAsked: "2026-11-23T10:00:00Z",
    since: "2026-11-23T10:00:00Z",
    approvable: true,
    ...over,
  };
}

const ROWS = [
  row("team-a/one"),
  row("team-b/two", {
    hook: "BeforeClusterDelete",
    policy: { kind: "HookPolicy", namespace: "team-b", name: "p" },
    tornDown: { reason: "ForegroundDeletion", message: "the garbage collector" },
  }),
];
const names = (rows: readonly HeldRow[]): string[] => rows.map(({ cluster }) => cluster);

test("a Cluster that several policies hold counts once", () => {
  assert.equal(clustersIn([...ROWS, row("team-a/one", { rule: "another" })]), 2);
});

test("rows are filtered by policy, namespace and hook, and by every word that is searched", () => {
  for (const [filter, expected] of [
    [{}, ["team-a/one", "team-b/two"]],
    [{ namespace: "team-a" }, ["team-a/one"]],
    [{ hook: "BeforeClusterDelete" }, ["team-b/two"]],
    [{ policy: "HookPolicy team-b/p", namespace: "team-a" }, []],
    [{ q: "PLATFORM two" }, ["team-b/two"]],
    [{ q: "platform three" }, []],
    [{ q: "collector" }, ["team-b/two"]],
  ] as const) {
    assert.deepEqual(names(filterHeld(ROWS, filter)), expected, JSON.stringify(filter));
  }
  assert.deepEqual(
    valuesOf([...ROWS, ...ROWS], ({ hook }) => hook),
    ["BeforeClusterDelete", "BeforeClusterUpgrade"],
  );
});

test("where statuses leave out rows, what is shown is not all that is held", () => {
  const ready = { isReady: true, rows: ROWS };
  assert.equal(heldText(ROWS), "2 Clusters held");
  assert.equal(heldText(ROWS, true), "At least 2 Clusters held");
  assert.equal(emptyText({ isReady: false, rows: [] }), "Reading…");
  assert.equal(emptyText({ isReady: true, rows: [] }), "Nothing is held.");
  assert.equal(emptyText(ready), "Nothing that is held matches.");
  assert.equal(emptyText({ isReady: true, rows: [], omits: true }), "No status names what is held.");
  assert.equal(emptyText({ ...ready, omits: true }), "Nothing that statuses name matches.");
});
