import assert from "node:assert/strict";
import test from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { followWatch } from "../../../src/kube/watch-session.ts";
import { busy } from "./fixtures.ts";
import { watchEvents } from "../../../src/kube/watch-stream.ts";

const RESOURCE = {
  group: "",
  version: "v1",
  plural: "configmaps",
  kind: "ConfigMap",
  namespaced: true,
} as const;
const EVENTS = 50;

/** How many events are handled in each turn of the event loop, all of which have arrived in one piece. */
async function turnsOf(work: () => void): Promise<readonly number[]> {
  const lines = Array.from({ length: EVENTS }, (_, index) =>
    JSON.stringify({
      type: "ADDED",
      object: { metadata: { name: `o${index}`, uid: `u${index}`, resourceVersion: `${index + 1}` } },
    }),
  );
  async function* body(): AsyncGenerator<Uint8Array> {
    await Promise.resolve();
    yield Buffer.from(`${lines.join("\n")}\n`);
  }
  const turns = [0];
  const stop = new AbortController();
  const ended = followWatch(
    { watch: async () => await Promise.resolve(watchEvents("watch configmaps", body())) },
    {
      resource: RESOURCE,
      resourceVersion: "1",
      timeoutSeconds: 300,
      metadataOnly: false,
      idleTimeoutMs: 60_000,
      signal: stop.signal,
      onOpen: () => undefined,
      onEvent: () => {
        turns.push((turns.pop() ?? 0) + 1);
        work();
      },
    },
  ).then(() => stop.abort());
  while (!stop.signal.aborted) {
    await nextTurn();
    turns.push(0);
  }
  await ended;
  return turns.filter((count) => count > 0);
}

test("events that arrive together are handled in as many turns of the event loop as they take slices", async () => {
  assert.equal((await turnsOf(busy)).length, EVENTS);
  const { length } = await turnsOf(() => undefined);
  assert.ok(length < EVENTS, String(length));
});
