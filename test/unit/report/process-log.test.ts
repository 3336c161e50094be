import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { Writable } from "node:stream";
import { test } from "node:test";

import type { Logger } from "../../../src/lib/logger.ts";
import { createLogger, type LogFormat, type LogLevel } from "../../../src/report/process-log.ts";

/** The lines that `use` logs, without the final newline of the last one. */
async function linesOf(format: LogFormat, level: LogLevel, use: (log: Logger) => void): Promise<string[]> {
  let text = "";
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      text += chunk.toString();
      done();
    },
  });
  const log = createLogger({ format, level, stream });
  use(log);
  await log.close();
  assert.ok(text === "" || text.endsWith("\n"));
  return text.split("\n").slice(0, -1);
}

const STAMP = /^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z /;

test("text lines are stamp, padded level, message and key=value pairs", async () => {
  const [first, second] = await linesOf("text", "info", (log) => {
    log.info("Listening", { port: 9443, host: "::", note: "with space", empty: "", on: true, none: null });
    log.error("Failed", { list: ["a", 1] });
  });
  assert.match(first!, STAMP);
  assert.equal(
    first!.replace(STAMP, ""),
    'INFO  Listening port=9443 host=:: note="with space" empty="" on=true none=null',
  );
  assert.equal(second!.replace(STAMP, ""), 'ERROR Failed list=["a",1]');
});

test("JSON lines carry ts, level and msg first, and no field can replace them", async () => {
  const [line] = await linesOf("json", "info", (log) => {
    log.warn("Careful", { level: "forged", msg: "forged", ts: 1, gone: undefined, policy: "a/b" });
  });
  const parsed: Record<string, unknown> = JSON.parse(line!);
  assert.deepEqual(Object.keys(parsed), ["ts", "level", "msg", "level_", "msg_", "ts_", "policy"]);
  assert.equal(parsed["level"], "warn");
  assert.equal(parsed["msg"], "Careful");
});

test("entries below the level are not written", async () => {
  const lines = await linesOf("text", "warn", (log) => {
    log.debug("no");
    log.info("no");
    log.warn("yes");
    log.error("yes");
  });
  assert.equal(lines.length, 2);
});

test("a child adds its fields to every entry and its own win over its parent's", async () => {
  const [line] = await linesOf("text", "info", (log) => {
    log.child({ part: "server", peer: "a" }).child({ peer: "b" }).info("Hello", { n: 1 });
  });
  assert.match(line!, /INFO {2}Hello part=server peer=b n=1$/);
});

for (const format of ["text", "json"] as const) {
  test(`${format}: what a client sends can neither start a line nor steer a terminal`, async () => {
    const hostile =
      "x\r\n2026-11-21T04:00:00.000Z ERROR forged \u001b[31m\u0000\u007f\u009b\u2028\u202e\u200b\ufeff\ud800";
    const lines = await linesOf(format, "info", (log) =>
      log.info(`Message ${hostile}`, { value: hostile, [`key ${hostile}`]: 1 }),
    );
    assert.equal(lines.length, 1);
    assert.doesNotMatch(lines[0]!, /[\p{Cc}\u2028\u202e\u200b\ufeff\p{Cs}]/u);
    if (format === "json") assert.equal(JSON.parse(lines[0]!).value, hostile);
  });
}

test("logs an error by its message and its causes, and the stack at debug only", async () => {
  const error = new Error("Cannot list", { cause: new Error("connection refused") });
  const [info] = await linesOf("text", "info", (log) => log.error("Failed", { error }));
  assert.match(info!, /ERROR Failed error="Cannot list: connection refused"$/);
  const [debug] = await linesOf("json", "debug", (log) => log.error("Failed", { error }));
  const parsed: Record<string, string> = JSON.parse(debug!);
  assert.equal(parsed["error"], "Cannot list: connection refused");
  assert.match(parsed["errorStack"]!, /log\.test\.ts/);
});

test("logs an error without a message by its parts or its code", async () => {
  const refused = new AggregateError([new Error("refused by ::1"), new Error("refused by 127.0.0.1")], "");
  const coded = Object.assign(new Error(""), { code: "EPIPE" });
  const [line] = await linesOf("text", "info", (log) => log.info("Failed", { refused, coded }));
  assert.match(line!, /refused="refused by ::1; refused by 127\.0\.0\.1" coded=EPIPE$/);
});

test("fields that JSON cannot carry do not stop the entry", async () => {
  const cycle: Record<string, unknown> = {};
  cycle["self"] = cycle;
  const bomb = {
    toJSON() {
      throw new Error("no");
    },
  };
  const [line] = await linesOf("text", "info", (log) =>
    log.info("Odd", { cycle, bomb, big: 1n, symbol: Symbol("s"), call: () => 1, nan: NaN }),
  );
  assert.match(line!, /Odd cycle="\(object\)" bomb="\(object\)" big="\(bigint\)" .*nan=null$/);
});

test("a value of a megabyte is cut", async () => {
  const [line] = await linesOf("json", "info", (log) => log.info("Big", { body: "x".repeat(1 << 20) }));
  assert.ok(line!.length < 10_000);
  assert.match(line!, /more characters/);
});

test("close waits for a slow stream", async () => {
  const written: string[] = [];
  const stream = new Writable({
    write(chunk: Buffer, _encoding, done) {
      setImmediate(() => {
        written.push(chunk.toString());
        done();
      });
    },
  });
  const log = createLogger({ format: "text", level: "info", stream });
  for (let n = 0; n < 50; n++) log.info("Line", { n });
  await log.close();
  assert.equal(written.filter((text) => text.includes("Line")).length, 50);
});

test("a process whose reader has gone keeps running and ends by itself", async () => {
  const script = `
    import { createLogger } from ${JSON.stringify(new URL("../../../src/report/process-log.ts", import.meta.url).href)};
    const log = createLogger({ format: "text", level: "info" });
    process.stdin.once("data", async () => {
      for (let n = 0; n < 100; n++) log.info("Line", { n });
      await new Promise((resolve) => setImmediate(resolve));
      log.info("Still here");
      await log.close();
      process.stderr.write("survived");
      process.exit(7);
    });`;
  const child = spawn(process.execPath, ["--input-type=module", "-e", script], { stdio: "pipe" });
  child.stdout.destroy();
  let errors = "";
  child.stderr.on("data", (chunk: Buffer) => (errors += chunk.toString()));
  child.stdin.write("go");
  const [code]: unknown[] = await once(child, "close");
  assert.equal(errors, "survived");
  assert.equal(code, 7);
});
