/** The explorer finds what is wrong with a system, by the shortest way, and knows when it has seen everything. */

import assert from "node:assert/strict";
import test from "node:test";
import { explore, type System } from "./explorer.ts";

/** Two who add 1 to a number: each reads it, and writes it later. */
function adders(over: Partial<System> = {}): System {
  const read: (number | undefined)[] = [undefined, undefined];
  const done = [false, false];
  let sum = 0;
  return {
    steps: () =>
      ["A", "B"].flatMap((name, index) => {
        const before = read[index];
        if (done[index] === true) return [];
        if (before === undefined)
          return [{ name: `${name} reads`, own: true, run: () => (read[index] = sum) }];
        const write = (): void => {
          sum = before + 1;
          done[index] = true;
        };
        return [{ name: `${name} writes`, own: true, run: write }];
      }),
    settle: async () => undefined,
    state: () => JSON.stringify([sum, read, done]),
    visible: () => String(sum),
    broken: () => [],
    brokenAtRest: () => [],
    stop: () => undefined,
    ...over,
  };
}

test("every state is visited once, in whatever order the steps were taken", async () => {
  assert.deepEqual(await explore(() => adders(), 100), { states: 13, steps: 14, atRest: 5 });
});

// B, who has read already, will write what is there.
test("reports the shortest way to a state that must not be", async () => {
  const lost = (): System => {
    const system = adders();
    return { ...system, brokenAtRest: () => (system.visible() === "2" ? [] : ["an addition is lost"]) };
  };
  await assert.rejects(explore(lost, 100), {
    message: "at rest: an addition is lost\n  1. A reads\n  2. B reads\n  3. A writes",
  });
});

test("finds a system that never comes to rest", async () => {
  const blinking = (): System => {
    let on = false;
    const blink = { name: "blinks", own: true, run: () => (on = !on) };
    return { ...adders(), steps: () => [blink], state: () => String(on), visible: () => String(on) };
  };
  await assert.rejects(explore(blinking, 100), /never comes to rest/);
});

test("gives up on a system with too many states", async () => {
  await assert.rejects(
    explore(() => adders(), 5),
    /more than 5 states/,
  );
});
