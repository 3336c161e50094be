import assert from "node:assert/strict";
import test from "node:test";
import { changedRows, filterHeld, valuesOf } from "../../../src/page/held-rows.ts";
import type { HeldRow } from "../../../src/page/wire.ts";

function row(cluster: string, over: Partial<HeldRow> = {}): HeldRow {
  return {
    key: cluster,
    cluster,
    hook: "BeforeClusterUpgrade",
    policy: "HookPolicy team-a/protect",
    rule: "approval",
    verdict: "Blocked",
    reason: "WaitingForAnnotation",
    message: "Ask the platform team",
    firstAsked: "2026-11-23T10:00:00Z",
    ...over,
  };
}

const ROWS = [
  row("team-a/one"),
  row("team-b/two", {
    hook: "BeforeClusterDelete",
    policy: "HookPolicy team-b/p",
    tornDown: { reason: "ForegroundDeletion", message: "the garbage collector" },
  }),
];
const names = (rows: readonly HeldRow[]): string[] => rows.map(({ cluster }) => cluster);

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

test("changes keep the longest held first, and all rows replace those before", () => {
  const none = { gone: [], notes: [] };
  const older = row("z/oldest", { firstAsked: "2026-11-20T10:00:00Z" });
  const added = changedRows(ROWS, { ...none, all: false, rows: [older] });
  assert.deepEqual(names(added), ["z/oldest", "team-a/one", "team-b/two"]);
  const gone = changedRows(added, { ...none, all: false, rows: [], gone: ["team-a/one"] });
  assert.deepEqual(names(gone), ["z/oldest", "team-b/two"]);
  assert.deepEqual(names(changedRows(gone, { ...none, all: true, rows: ROWS })), names(ROWS));
});
