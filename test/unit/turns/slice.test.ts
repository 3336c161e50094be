import assert from "node:assert/strict";
import test, { describe } from "node:test";
import { inSlices, type Steps } from "../../../src/turns/slice.ts";

function* count(to: number, each: () => void = () => undefined): Steps<number> {
  let counted = 0;
  for (; counted < to; counted += 1) {
    each();
    yield;
  }
  return counted;
}

/** Keeps the processor for a millisecond. */
function work(): void {
  const end = performance.now() + 1;
  while (performance.now() < end);
}

describe("work in slices", () => {
  test("is done at once if there is little of it, however slow", () => {
    assert.equal(inSlices(count(50, work)), 50);
  });

  test("lets other work come between if there is much of it", async () => {
    let done = 0;
    const result = inSlices(count(300, () => (work(), (done += 1))));
    assert.ok(result instanceof Promise);
    const meanwhile = await new Promise<number>((resolve) => setImmediate(() => resolve(done)));
    assert.ok(meanwhile < 300, String(meanwhile));
    assert.equal(await result, 300);
  });

  test("tells an error", async () => {
    const failing = (step: number): Steps<number> => {
      let steps = 0;
      return count(300, () => {
        work();
        if ((steps += 1) === step) throw new Error("no");
      });
    };
    assert.throws(() => inSlices(failing(3)), /no/);
    await assert.rejects(async () => await inSlices(failing(250)), /no/);
  });
});
