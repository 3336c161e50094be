import assert from "node:assert/strict";
import { test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { note, waitFor } from "../../controlplane/waits.ts";

test("a wait that times out reports what its probe saw last, and nothing that others saw", async () => {
  let looked = 0;
  const wait = waitFor(
    "the impossible",
    () => {
      looked += 1;
      note(() => `look ${looked}`);
      return false;
    },
    { timeoutMs: 20, everyMs: 1 },
  );
  note(() => "seen outside");
  await assert.rejects(wait, (error: Error) => {
    assert.equal(error.message, `Waited 0.02 s in vain for the impossible.\n  Last seen: look ${looked}`);
    return true;
  });
});

test("a wait tells what a wait within it saw", async () => {
  const inner = async (): Promise<boolean> =>
    await waitFor("the inner", () => {
      note(() => "inside");
      return true;
    });
  const wait = waitFor("the outer", async () => !(await inner()), { timeoutMs: 5, everyMs: 1 });
  await assert.rejects(wait, /for the outer\.\n {2}Last seen: inside$/);
});

test("a wait does not outlast its time because a look was slow", async () => {
  const begunMs = Date.now();
  let lookMs = 500;
  const wait = waitFor(
    "the impossible",
    async () => {
      await sleep(lookMs);
      lookMs = 0;
      return false;
    },
    { timeoutMs: 550 },
  );
  await assert.rejects(wait);
  assert.ok(Date.now() - begunMs < 1000);
});
