import assert from "node:assert/strict";
import { test } from "node:test";
import { eachInSlices } from "../../../src/turns/slice.ts";

/** Keeps the processor for a millisecond. */
function work(): void {
  const end = performance.now() + 1;
  while (performance.now() < end);
}

test("work in slices lets other work come between if there is much of it", async () => {
  let done = 0;
  const all = eachInSlices(Array.from({ length: 100 }), () => (work(), (done += 1)));
  const meanwhile = await new Promise<number>((resolve) => setImmediate(() => resolve(done)));
  assert.ok(meanwhile > 0 && meanwhile < 50, String(meanwhile));
  await all;
  assert.equal(done, 100);
});
