import assert from "node:assert/strict";
import test from "node:test";
import { type FeedEvent, LiveFeed } from "../../../../src/cli/ui/live-feed.ts";
import { changedRows } from "../../../../src/page/held-rows.ts";
import type { HeldChange, HeldRow } from "../../../../src/page/wire.ts";

function row(key: string, message = "wait"): HeldRow {
  return {
    key,
    cluster: `team-a/${key}`,
    hook: "BeforeClusterUpgrade",
    policy: "HookPolicy team-a/protect",
    rule: "approval",
    verdict: "Blocked",
    reason: "WaitingForAnnotation",
    message,
    firstAsked: "2026-11-23T10:00:00Z",
  };
}

const isHeld = (event: FeedEvent): event is FeedEvent & { readonly data: HeldChange } =>
  event.name === "held";

test("a page that follows the differences has what one has that begins now", () => {
  const feed = new LiveFeed();
  let followed: readonly HeldRow[] = [];
  feed.listen((event) => {
    if (isHeld(event)) followed = changedRows(followed, event.data);
  });
  for (const rows of [[row("a"), row("b")], [row("b", "changed"), row("c")], [], [row("a")]]) {
    feed.setHeld(rows, []);
    assert.deepEqual(followed, rows);
    let fresh: readonly HeldRow[] = [row("stale")];
    const stop = feed.listen((event) => {
      if (isHeld(event)) fresh = changedRows(fresh, event.data);
    });
    stop();
    assert.deepEqual(fresh, rows);
  }
});

test("reports only changes, and nothing after the end", () => {
  const feed = new LiveFeed();
  const events: FeedEvent[] = [];
  const stop = feed.listen((event) => events.push(event));
  feed.setHeld([row("a")], ["note"]);
  const told = events.length;
  feed.setHeld([row("a")], ["note"]);
  feed.setRollouts({ rollouts: [] });
  assert.equal(events.length, told);
  feed.setHeld([row("a")], ["another note"]);
  assert.deepEqual(events.at(-1)?.data, { all: false, rows: [], gone: [], notes: ["another note"] });
  stop();
  feed.lost("gone");
  assert.equal(events.length, told + 1);
});
