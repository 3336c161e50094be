import assert from "node:assert/strict";
import test from "node:test";
import { LiveFeed } from "../../../../src/cli/ui/live-feed.ts";
import type { LiveState } from "../../../../src/page/wire.ts";

function state(...notes: readonly string[]): LiveState {
  return { rows: [], notes, unread: [], rollouts: [] };
}

test("a page gets the state when it begins to listen, and then changes and that there are none, until it ends", () => {
  const feed = new LiveFeed();
  const early: string[] = [];
  const late: string[] = [];
  const stop = feed.listen((text) => early.push(text));
  assert.deepEqual(early, []);
  feed.tell(state("a"));
  feed.tell(state("a"));
  feed.listen((text) => late.push(text));
  feed.tell(state("b"));
  stop();
  feed.tell(state("c"));
  const [a, b, c] = ["a", "b", "c"].map((note) => JSON.stringify(state(note)));
  assert.deepEqual(early, [a, "", b]);
  assert.deepEqual(late, [a, b, c]);
});
