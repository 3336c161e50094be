import assert from "node:assert/strict";
import { once } from "node:events";
import { setImmediate as nextTurn } from "node:timers/promises";
import test from "node:test";
import { Worker } from "node:worker_threads";
import { ThreadExaminer } from "../../../src/admission/examiner.ts";
import { ALL_HOOKS, NOW } from "../builders.ts";
import { MemoryLogger } from "../kube/fixtures.ts";

const SILENT = "setInterval(() => undefined, 60_000)";
const READY = `
  const { parentPort } = require("node:worker_threads");
  parentPort.on("message", () => parentPort.postMessage({ is: "Admitted" }));
  parentPort.postMessage("ready");`;

test("a thread that never says that it is ready ends, and the next review starts another", async (t) => {
  const limits: AbortController[] = [];
  t.mock.method(AbortSignal, "timeout", () => {
    const limit = new AbortController();
    limits.push(limit);
    return limit.signal;
  });
  const codes = [SILENT, READY];
  const threads: Worker[] = [];
  const log = new MemoryLogger();
  const examiner = new ThreadExaminer({
    settings: { served: ALL_HOOKS, maxOverrideMs: 1 },
    log,
    // What a thread says before anyone listens is lost.
    start: () => {
      const thread = new Worker(codes.shift() ?? assert.fail("a third thread"), { eval: true });
      threads.push(thread);
      return thread;
    },
  });
  t.after(async () => {
    await examiner.close();
    await Promise.all(threads.map(async (thread) => await thread.terminate()));
  });
  const task = { body: Buffer.from("{}"), now: NOW };
  const first = examiner.examine(task, new AbortController().signal);
  await nextTurn();
  const [silent] = threads;
  assert.ok(silent);
  const ended = once(silent, "exit");
  assert.equal(limits.length, 1, "its start has a limit");
  limits[0]?.abort();
  assert.equal((await first).examined, undefined);
  assert.deepEqual(log.messages("warn"), ["Cannot start the thread for reviews"]);
  await ended;
  const second = await examiner.examine(task, new AbortController().signal);
  assert.deepEqual(second.examined, { is: "Admitted" });
});
