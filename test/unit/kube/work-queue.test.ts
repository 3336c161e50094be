import assert from "node:assert/strict";
import { test } from "node:test";
import type { TestContext } from "node:test";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { WorkQueue } from "../../../src/kube/work-queue.ts";
import type { Requeue } from "../../../src/lib/requeue.ts";
import type { WorkQueueOptions } from "../../../src/kube/work-queue.ts";
import { MemoryLogger, until } from "./fixtures.ts";

interface QueueLab {
  readonly queue: WorkQueue;
  readonly log: MemoryLogger;
  readonly stop: AbortController;
  readonly done: Promise<void>;
}

type Work = (key: string, signal: AbortSignal) => Promise<Requeue | undefined>;

function startQueue(t: TestContext, reconcile: Work, options: Partial<WorkQueueOptions> = {}): QueueLab {
  const log = new MemoryLogger();
  const queue = new WorkQueue({ reconcile, log, minBackoffMs: 1, maxBackoffMs: 8, ...options });
  const stop = new AbortController();
  const done = queue.run(stop.signal);
  t.after(async () => {
    stop.abort();
    await done;
  });
  return { queue, log, stop, done };
}

const CONFLICT = new KubeError("update x: conflict", { code: 409, reason: "Conflict" });
const throttled = (retryAfterSeconds: number): KubeError =>
  new KubeError("get x: too many requests", { code: 429, reason: "TooManyRequests", retryAfterSeconds });

test("a key added many times before its turn is worked on once", async (t) => {
  const seen: string[] = [];
  const { queue } = startQueue(t, async (key) => void seen.push(key), { concurrency: 1 });
  for (let i = 0; i < 5; i++) {
    queue.add("a");
    queue.add("b");
  }
  queue.add("end");
  await until("all done", () => seen.includes("end"));
  assert.equal(seen.filter((key) => key === "b").length, 1);
});

test("keys added before the start are worked on", async (t) => {
  const seen: string[] = [];
  const queue = new WorkQueue({ reconcile: async (key) => void seen.push(key), log: new MemoryLogger() });
  queue.add("a");
  assert.equal(queue.depth, 1);
  const stop = new AbortController();
  const done = queue.run(stop.signal);
  t.after(() => stop.abort());
  await until("done", () => seen.length === 1);
  assert.equal(queue.depth, 0);
  stop.abort();
  await done;
});

test("a key added while it is worked on is worked on again, never twice at a time", async (t) => {
  let running = 0;
  let most = 0;
  let runs = 0;
  const gate = Promise.withResolvers<void>();
  const { queue } = startQueue(t, async () => {
    most = Math.max(most, ++running);
    runs++;
    await gate.promise;
    running--;
    return undefined;
  });
  queue.add("a");
  queue.add("a");
  queue.add("a");
  assert.deepEqual([runs, queue.depth], [1, 1]);
  gate.resolve();
  await until("the second run ended", () => runs === 2 && running === 0);
  assert.equal(most, 1);
  assert.equal(queue.depth, 0);
});

test("a key whose group changes while it waits is worked on once", async () => {
  const seen: string[] = [];
  let group = "";
  const reconcile = async (key: string): Promise<undefined> => void seen.push(key);
  const queue = new WorkQueue({ reconcile, log: new MemoryLogger(), groupOf: () => group });
  queue.add("a");
  group = "known";
  queue.add("a");
  assert.equal(queue.depth, 1);
  const stop = new AbortController();
  const done = queue.run(stop.signal);
  stop.abort();
  await done;
  assert.deepEqual(seen, ["a"]);
});

test("so many different keys at a time as configured", async (t) => {
  let running = 0;
  let most = 0;
  let runs = 0;
  const { queue } = startQueue(
    t,
    async () => {
      most = Math.max(most, ++running);
      await new Promise((resolve) => setImmediate(resolve));
      running--;
      runs++;
      return undefined;
    },
    { concurrency: 3 },
  );
  for (let i = 0; i < 12; i++) queue.add(`k${i}`);
  await until("all done", () => runs === 12);
  assert.equal(most, 3);
});

test("of several wishes for later the earliest counts, once", async (t) => {
  const seen: string[] = [];
  const { queue } = startQueue(t, async (key) => void seen.push(key));
  queue.addAfter("a", 60_000);
  queue.addAfter("a", 200);
  queue.addAfter("a", 50_000);
  queue.addAfter("b", 300);
  queue.addAfter("b", 100);
  queue.addAfter("end", 400);
  await until("all had their turn", () => seen.includes("end"));
  assert.deepEqual(seen, ["b", "a", "end"]);
});

test("keys for later come in the order of their instants, not in that of their wishes", async (t) => {
  const seen: string[] = [];
  const { queue } = startQueue(t, async (key) => void seen.push(key));
  for (const [key, ms] of [
    ["third", 300],
    ["first", 100],
    ["second", 200],
    ["third", 3000],
  ] as const)
    queue.addAfter(key, ms);
  await until("all have come", () => seen.length === 3);
  assert.deepEqual(seen, ["first", "second", "third"]);
});

test("a key for later is not early", async (t) => {
  const { queue } = startQueue(t, async () => void (ranAt = performance.now()));
  let ranAt = 0;
  const start = performance.now();
  queue.addAfter("a", 20);
  await until("it ran", () => ranAt > 0);
  assert.ok(ranAt - start >= 19);
});

test("a wish beyond setTimeout's range does not fire at once", async (t) => {
  const seen: string[] = [];
  const { queue } = startQueue(t, async (key) => void seen.push(key));
  queue.addAfter("in forty days", 40 * 86_400_000);
  queue.addAfter("soon", 5);
  await until("soon is done", () => seen.length > 0);
  assert.deepEqual(seen, ["soon"]);
});

test("a result asks for another turn later; zero is not a hot loop", async (t) => {
  const times: number[] = [];
  const { queue } = startQueue(t, async () => {
    times.push(performance.now());
    return times.length < 4 ? { requeueAfterMs: 0 } : {};
  });
  queue.add("a");
  await until("four turns", () => times.length === 4);
  assert.ok((times[3] ?? 0) - (times[0] ?? 0) >= 27);
});

test("a throw is tried again with a growing delay, and kills no worker", async (t) => {
  const times: number[] = [];
  const { queue, log } = startQueue(
    t,
    async () => {
      times.push(performance.now());
      if (times.length < 5) throw new Error("boom");
      return undefined;
    },
    { minBackoffMs: 10, maxBackoffMs: 40, random: () => 0.999 },
  );
  queue.add("a");
  await until("five turns", () => times.length === 5);
  assert.deepEqual(
    log.lines.map(({ fields }) => fields["retryInMs"]),
    [10, 20, 40, 40],
  );
  assert.ok((times[4] ?? 0) - (times[0] ?? 0) >= 105);
  assert.equal(log.messages("error").length, 4);
  assert.match(String(log.lines[0]?.fields["stack"]), /boom/);
});

test("a synchronous throw is like any other", async (t) => {
  let runs = 0;
  const { queue } = startQueue(t, () => {
    if (++runs === 1) throw new Error("boom");
    return Promise.resolve(undefined);
  });
  queue.add("a");
  await until("tried again", () => runs === 2);
});

test("success ends the back-off of a key", async (t) => {
  const delays: number[] = [];
  let fail = true;
  const { queue, log } = startQueue(
    t,
    async () => {
      fail = !fail;
      if (!fail) throw new Error("boom");
      return { requeueAfterMs: 1 };
    },
    { random: () => 0.999 },
  );
  queue.add("a");
  await until("four failures", () => log.messages("error").length >= 4);
  for (const { fields } of log.lines.slice(0, 4)) delays.push(Number(fields["retryInMs"]));
  assert.deepEqual(delays, [1, 1, 1, 1]);
});

test("one key's failures do not slow another down", async (t) => {
  const seen: string[] = [];
  const { queue } = startQueue(
    t,
    async (key) => {
      if (key === "bad") throw new Error("boom");
      seen.push(key);
      return undefined;
    },
    { minBackoffMs: 60_000, maxBackoffMs: 60_000 },
  );
  queue.add("bad");
  queue.add("good");
  await until("the good one is done", () => seen.length === 1);
});

test("a conflict is no error; one that lasts is slowed down", async (t) => {
  const { queue, log } = startQueue(t, () => Promise.reject(CONFLICT), {
    minBackoffMs: 10,
    maxBackoffMs: 60_000,
    random: () => 0,
  });
  queue.add("a");
  await until("six conflicts", () => log.messages("debug").length === 6);
  const delays = log.lines.map(({ fields }) => fields["retryInMs"]);
  assert.deepEqual(delays, [5, 10, 20, 40, 80, 160]);
  assert.deepEqual(log.messages("error"), []);
});

test("a throttled key waits as long as the server asks", async (t) => {
  const { queue, log } = startQueue(t, () => Promise.reject(throttled(3)));
  queue.add("a");
  await until("it failed", () => log.lines.length === 1);
  assert.equal(log.lines[0]?.fields["retryInMs"], 3_000);
});

test("an error is told to metrics and logged once, without a stack when the API server gave it", async (t) => {
  const told: unknown[] = [];
  const boom = new KubeError("get x: forbidden", { code: 403, reason: "Forbidden" });
  const { queue, log } = startQueue(t, () => Promise.reject(boom), {
    minBackoffMs: 60_000,
    maxBackoffMs: 60_000,
    onError: (key, error) => told.push([key, error]),
  });
  queue.add("a");
  await until("it failed", () => told.length === 1);
  assert.deepEqual(told, [["a", boom]]);
  assert.deepEqual(log.messages("error"), ["Reconcile failed"]);
  assert.equal("stack" in (log.lines[0]?.fields ?? {}), false);
});

test("the signal lets the work under way end, starts no other, and drops what is delayed", async (t) => {
  const seen: string[] = [];
  const gate = Promise.withResolvers<void>();
  const { queue, stop, done } = startQueue(
    t,
    async (key, signal) => {
      seen.push(key);
      await gate.promise;
      seen.push(`${key} ended, aborted: ${signal.aborted}`);
      return { requeueAfterMs: 1 };
    },
    { concurrency: 1 },
  );
  queue.add("a");
  queue.add("b");
  queue.addAfter("c", 1);
  stop.abort();
  let ended = false;
  const end = done.then(() => (ended = true));
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.equal(ended, false);
  gate.resolve();
  await end;
  queue.add("d");
  queue.addAfter("e", 1);
  await new Promise((resolve) => setTimeout(resolve, 5));
  assert.deepEqual(seen, ["a", "a ended, aborted: true"]);
});
