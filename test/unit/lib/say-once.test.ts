import assert from "node:assert/strict";
import { test } from "node:test";
import { SayOnce } from "../../../src/lib/logger.ts";
import { MemoryLogger } from "../kube/fixtures.ts";

const HALF_AN_HOUR = 30 * 60_000;

test("a trouble that lasts is warned of every half hour, and told at debug between", (t) => {
  let now = 0;
  t.mock.method(performance, "now", () => now);
  const log = new MemoryLogger();
  const trouble = new SayOnce();
  const warn = (error: string): void => trouble.warn(log, "Cannot write", { error: new Error(error) });
  for (now of [0, 10_000, HALF_AN_HOUR - 1, HALF_AN_HOUR, HALF_AN_HOUR + 10_000]) warn("refused");
  warn("refused otherwise");
  trouble.reset();
  warn("refused otherwise");
  assert.deepEqual(
    log.lines.map(({ level }) => level),
    ["warn", "debug", "debug", "warn", "debug", "warn", "warn"],
  );
});

test("it can be told what makes a trouble a different one", () => {
  const log = new MemoryLogger();
  const trouble = new SayOnce();
  for (const error of ["list: refused", "watch: refused"])
    trouble.warn(log, "Lost contact", { error }, "refused");
  assert.deepEqual(log.messages("warn"), ["Lost contact"]);
});
