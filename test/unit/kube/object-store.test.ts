/** What an informer keeps. */

import assert from "node:assert/strict";
import test from "node:test";
import { Store } from "../../../src/kube/object-store.ts";

const widget = (
  resourceVersion: string,
): { metadata: { name: string; uid: string; resourceVersion: string } } => ({
  metadata: { name: "w1", uid: "u1", resourceVersion },
});

test("an object that reads otherwise in the same version is a change where it is looked at", () => {
  const sized = (size: number): ReturnType<typeof widget> & { size: number } => ({ ...widget("1"), size });
  const store = new Store<ReturnType<typeof sized>>((a, b) => a.size === b.size);
  store.put("team-a/w1", sized(1));
  assert.equal(store.put("team-a/w1", sized(1)), undefined);
  assert.equal(store.put("team-a/w1", sized(2))?.new?.size, 2);
});

test("an object that is listed again in the same version stays the one that was told of", () => {
  const store = new Store<ReturnType<typeof widget>>();
  const first = widget("1");
  assert.equal(store.put("team-a/w1", first)?.new, first);
  assert.equal(store.put("team-a/w1", widget("1")), undefined);
  assert.equal(store.put("team-a/w1", widget("2"))?.old, first);
});
