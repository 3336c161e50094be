import assert from "node:assert/strict";
import test from "node:test";
import { LiveFeed } from "../../../../src/cli/ui/live-feed.ts";
import type { LiveState } from "../../../../src/page/wire.ts";

function state(...notes: readonly string[]): LiveState {
  return { rows: [], notes, unread: [], rollouts: [] };
}

test("a page gets the state when it begins to listen, and only what has changed after that, until it ends", () => {
  const feed = new LiveFeed();
  const early: LiveState[] = [];
  const late: LiveState[] = [];
  const stop = feed.listen((text) => early.push(JSON.parse(text)));
  assert.deepEqual(early, []);
  feed.tell(state("a"));
  feed.tell(state("a"));
  feed.listen((text) => late.push(JSON.parse(text)));
  feed.tell(state("b"));
  stop();
  feed.tell(state("c"));
  assert.deepEqual(early, [state("a"), state("b")]);
  assert.deepEqual(late, [state("a"), state("b"), state("c")]);
});
