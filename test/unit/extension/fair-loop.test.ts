/** The clock stands still here but for the work itself, so that each turn of the real event loop does the same each time. */

import assert from "node:assert/strict";
import { test, type TestContext } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import * as fc from "fast-check";

import { FairLoop, type Kind, type Size } from "../../../src/extension/fair-loop.ts";

interface Lab {
  readonly loop: FairLoop;
  /** The addresses whose work has run, in this order. */
  readonly ran: string[];
  /** Work that takes so long; returns whether it ran at once. */
  readonly run: (address: string, tookMs: number, kind?: Kind) => boolean;
  readonly pass: (ms: number) => void;
}

function start(t: TestContext, ...addresses: readonly string[]): Lab {
  let now = 1000;
  t.mock.method(performance, "now", () => now);
  const loop = new FairLoop();
  for (const address of addresses) loop.accepted(address);
  const ran: string[] = [];
  const pass = (ms: number): void => void (now += ms);
  const run: Lab["run"] = (address, tookMs, kind) => {
    const before = ran.length;
    const work = (): void => {
      ran.push(kind?.size === undefined ? address : `${kind.size} of ${address}`);
      pass(tookMs);
    };
    loop.run(address, work, kind);
    return ran.length > before;
  };
  return { loop, ran, run, pass };
}

/** Two addresses whose connections are known already. */
async function startTwo(t: TestContext): Promise<Lab> {
  const lab = start(t, "a", "b");
  lab.run("a", 0);
  await turns(2);
  lab.ran.length = 0;
  lab.pass(6); // no connection has arrived for a while
  return lab;
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn += 1) await nextTurn();
}

test("while all connections are of one address, its work runs at once", (t) => {
  const { run, ran } = start(t, "a", "a");
  assert.deepEqual([run("a", 50), run("a", 50), run("a", 50)], [true, true, true]);
  assert.deepEqual(ran, ["a", "a", "a"]);
});

test("connections that have ended do not count, and their work leaves nothing behind", async (t) => {
  const { loop, run } = await startTwo(t);
  t.mock.timers.enable({ apis: ["setTimeout"] });
  loop.closed("b");
  t.mock.timers.tick(999);
  assert.deepEqual([run("a", 5), run("a", 5)], [true, false], "it is still known");
  await nextTurn();
  t.mock.timers.tick(1);
  assert.deepEqual([run("b", 5), run("a", 5), run("a", 5)], [true, true, true]);
});

test("in a turn work begins for a millisecond, and next comes the address that has had the least time", async (t) => {
  const { run, ran } = await startTwo(t);
  assert.deepEqual([run("a", 0.4), run("a", 0.7), run("a", 1)], [true, true, false]);
  run("a", 1);
  run("b", 0.5);
  run("b", 1);
  assert.deepEqual(ran.splice(0), ["a", "a"]);
  await nextTurn();
  assert.deepEqual(ran.splice(0), ["b", "b"]);
  await nextTurn();
  assert.deepEqual(ran.splice(0), ["a"]);
  await nextTurn();
  assert.deepEqual(ran, ["a"]);
});

test("work whose costs come later takes its turn as if they had come", async (t) => {
  const { loop, run, ran } = await startTwo(t);
  loop.run("a", () => ran.push("handshake"), { laterMs: 1 });
  assert.equal(run("b", 0.1), false);
  await nextTurn();
  assert.deepEqual(ran, ["handshake", "b"]);
});

interface Resting {
  readonly size: Size;
  readonly tookMs: number;
  readonly restMs: number;
}

/** That work of this size rests so long after work that took so long, and what is small does not. */
async function assertRests({ run, ran, pass }: Lab, t: TestContext, rest: Resting): Promise<void> {
  const { size, tookMs, restMs } = rest;
  t.mock.timers.enable({ apis: ["setTimeout"] });
  const go = async (ms: number): Promise<void> => {
    pass(ms);
    t.mock.timers.tick(ms);
    await turns(4);
  };
  run("a", tookMs, { size });
  run("a", 0, { size });
  await go(0);
  run("a", 0);
  await go(restMs - 1);
  assert.deepEqual(ran.splice(0), [`${size} of a`, "a"]);
  await go(1);
  assert.deepEqual(ran.splice(0), [`${size} of a`]);
  t.mock.timers.reset();
}

for (const { size, tookMs, restMs } of [
  { size: "large", tookMs: 5, restMs: 15 },
  { size: "large", tookMs: 500, restMs: 200 },
  { size: "huge", tookMs: 5, restMs: 500 },
  { size: "huge", tookMs: 50, restMs: 1000 },
] as const) {
  test(`while others work, what is ${size} rests ${restMs} ms after ${tookMs}`, async (t) => {
    const lab = await startTwo(t);
    lab.run("b", 0.1);
    lab.ran.length = 0;
    await assertRests(lab, t, { size, tookMs, restMs });
  });
}

for (const size of ["large", "huge"] as const) {
  test(`while nobody else has worked for a second, what is ${size} rests less`, async (t) => {
    const lab = await startTwo(t);
    lab.run("b", 0.1);
    lab.ran.length = 0;
    lab.pass(1001);
    await assertRests(lab, t, { size, tookMs: 10, restMs: 60 });
    await assertRests(lab, t, { size, tookMs: 500, restMs: 200 });
    lab.run("a", 7, { size });
    lab.run("a", 7, { size });
    await turns(3);
    assert.equal(lab.ran.length, 2);
  });
}

test("what is small does not rest: it takes long by accident", async (t) => {
  const { run, ran } = await startTwo(t);
  run("b", 0.1);
  run("a", 50);
  run("a", 1);
  await turns(1);
  assert.deepEqual(ran, ["b", "a", "a"]);
});

test("an address rests without connections, too", async (t) => {
  const lab = await startTwo(t);
  const { loop, run, ran, pass } = lab;
  t.mock.timers.enable({ apis: ["setTimeout"] });
  run("b", 0.1);
  run("a", 9, { size: "huge" });
  await turns(2);
  loop.closed("a");
  pass(899);
  t.mock.timers.tick(899);
  loop.accepted("a");
  run("a", 1, { size: "huge" });
  await turns(3);
  assert.deepEqual(ran, ["b", "huge of a"]);
  pass(1);
  t.mock.timers.tick(1);
  await turns(2);
  assert.deepEqual(ran, ["b", "huge of a", "huge of a"]);
});

test("large bodies always wait, one part in a turn, and what is small passes them", async (t) => {
  const { run, ran } = start(t, "a");
  const part = { size: "large", laterMs: 1 } as const;
  assert.deepEqual([run("a", 0, part), run("a", 0, part), run("a", 0)], [false, false, false]);
  await nextTurn();
  assert.deepEqual(ran.splice(0), ["large of a"]);
  await turns(2);
  assert.deepEqual(ran, ["a", "large of a"]);
});

/** A connection in each turn, whose work is its handshake. */
async function arrive({ loop, ran, pass }: Lab, address: string): Promise<void> {
  loop.accepted(address);
  loop.run(address, () => ran.push(address), { size: "handshake", laterMs: 0.5 });
  await nextTurn();
  pass(1);
}

test("while connections arrive, an address that has sent more than four waits, for 100 ms at most", async (t) => {
  const lab = await startTwo(t);
  for (let count = 0; count < 100; count += 1) await arrive(lab, "a");
  assert.equal(lab.ran.splice(0).length, 4);
  assert.equal(lab.run("b", 0), false, "others have their turn");
  await arrive(lab, "a");
  assert.equal(lab.ran.splice(0)[0], "b");
  for (let count = 0; count < 10; count += 1) await arrive(lab, "a");
  assert.ok(lab.ran.length > 10, `${lab.ran.length}`);
});

test("its calls do not wait for that", async (t) => {
  const lab = await startTwo(t);
  for (let count = 0; count < 10; count += 1) await arrive(lab, "a");
  lab.ran.length = 0;
  lab.run("a", 0);
  await nextTurn();
  assert.ok(lab.ran.length > 0);
});

test("connections that came while nobody else was there are no burst", async (t) => {
  const lab = start(t, "a");
  for (let count = 0; count < 10; count += 1) {
    await arrive(lab, "a");
    await turns(2);
  }
  lab.loop.accepted("b");
  lab.ran.length = 0;
  await arrive(lab, "a");
  assert.deepEqual(lab.ran, ["a"]);
});

test("after a large body that took more than 8 ms, those of all addresses rest six times as long", async (t) => {
  const lab = await startTwo(t);
  const { run, ran, pass } = lab;
  t.mock.timers.enable({ apis: ["setTimeout"] });
  run("a", 10, { size: "large" });
  run("b", 1, { size: "huge" });
  await turns(3);
  pass(59);
  t.mock.timers.tick(59);
  await turns(3);
  assert.deepEqual(ran.splice(0), ["large of a"]);
  pass(1);
  t.mock.timers.tick(1);
  await turns(3);
  assert.deepEqual(ran, ["huge of b"]);
});

test("an address that has work of all sizes gets no more time than another", async (t) => {
  const { run, ran } = await startTwo(t);
  for (let count = 0; count < 20; count += 1) {
    for (const size of ["small", "large", "huge"] as const) run("a", 1, { size });
    run("b", 1);
  }
  await turns(20);
  const ofB = ran.filter((each) => each === "b").length;
  assert.ok(ofB >= 9, `${ofB} of ${ran.length}`);
});

test("it has its turns when the last has arrived", async (t) => {
  const lab = await startTwo(t);
  for (let count = 0; count < 10; count += 1) await arrive(lab, "a");
  assert.equal(lab.ran.length, 4);
  await turns(5);
  assert.equal(lab.ran.length, 10);
});

test("who came behind a burst of connections has its turn at once", async (t) => {
  const lab = await startTwo(t);
  for (let count = 0; count < 30; count += 1) await arrive(lab, "a");
  lab.ran.length = 0;
  await arrive(lab, "b");
  assert.equal(lab.ran[0], "b");
});

test("addresses that always have work get the same time, whatever it costs", async (t) => {
  const cost = fc.double({ min: 0.01, max: 1.9, noNaN: true });
  const backlog = fc.array(fc.array(cost, { minLength: 30, maxLength: 30 }), { minLength: 2, maxLength: 5 });
  await fc.assert(
    fc.asyncProperty(backlog, async (costs) => {
      const names = costs.map((_, index) => `address ${index}`);
      const { run, ran } = start(t, "first", ...names);
      run("first", 1); // takes the whole turn, so that all of the others wait
      ran.length = 0;
      const queues = new Map(names.map((name, index) => [name, [...(costs[index] ?? [])]]));
      for (const [name, own] of queues) for (const each of own) run(name, each);
      const had = new Map(names.map((name) => [name, 0]));
      const haveAllWork = (): boolean => queues.values().every((own) => own.length > 0);
      while (haveAllWork()) {
        await nextTurn();
        assert.notEqual(ran.length, 0);
        for (const name of ran.splice(0)) {
          if (!haveAllWork()) break; // the others have the rest of the turn
          had.set(name, (had.get(name) ?? 0) + (queues.get(name)?.shift() ?? 0));
          const all = [...had.values()];
          // Start-time fair queueing: at most the longest work of each of the two (Goyal, theorem 1).
          assert.ok(Math.max(...all) - Math.min(...all) <= 3.8 + 1e-6, all.join(" "));
        }
      }
      t.mock.restoreAll();
    }),
    { numRuns: 50 },
  );
});
