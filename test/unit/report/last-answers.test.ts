/** The memory of Clusters is bounded, even if a caller invents them. */

import assert from "node:assert/strict";
import test from "node:test";
import { LastAnswers } from "../../../src/report/last-answers.ts";

const HOOK = "BeforeClusterDelete";

test("are kept by Cluster and hook until the Cluster is forgotten", () => {
  const last = new LastAnswers<number>();
  last.set("a", HOOK, 1);
  last.set("a", "BeforeClusterUpgrade", 2);
  last.set("b", HOOK, 3);
  last.set("a", HOOK, 4);
  assert.deepEqual(
    [last.get("a", HOOK), last.get("b", HOOK), last.get("b", "BeforeClusterUpgrade")],
    [4, 3, undefined],
  );
  assert.deepEqual(last.forget("a"), [
    ["BeforeClusterUpgrade", 2],
    [HOOK, 4],
  ]);
  assert.deepEqual([last.get("a", HOOK), last.get("b", HOOK), last.forget("a")], [undefined, 3, []]);
});

test("each hook of a Cluster counts as one of those that are kept", () => {
  const last = new LastAnswers<number>();
  last.set("old", HOOK, 1);
  for (let n = 0; n < 10_000; n += 1)
    for (const hook of [HOOK, "BeforeClusterUpgrade"] as const) last.set(`uid-${n}`, hook, n);
  assert.deepEqual([last.get("old", HOOK), last.get("uid-0", HOOK)], [undefined, 0]);
});

test("of too many Clusters are forgotten first where nothing has changed for longest", () => {
  const last = new LastAnswers<number>();
  for (let n = 0; n < 20_000; n += 1) last.set(`uid-${n}`, HOOK, n);
  last.set("uid-0", HOOK, 0);
  last.set("one more", HOOK, 0);
  assert.deepEqual(
    [last.get("uid-0", HOOK), last.get("uid-1", HOOK), last.get("uid-2", HOOK)],
    [0, undefined, 2],
  );
});
