import assert from "node:assert/strict";
import { appendFile, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { LogReader } from "../../controlplane/log-reader.ts";

async function logFile(t: TestContext, text: string): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "hookpolicy-log-"));
  t.after(async () => await rm(folder, { recursive: true }));
  const file = join(folder, "log");
  await writeFile(file, text);
  return file;
}

test("reads each line once, however often it is asked", async (t) => {
  const file = await logFile(t, "a\nb\n");
  const parsed: string[] = [];
  const log = new LogReader(file, (line) => {
    parsed.push(line);
    return [line];
  });
  assert.deepEqual(log.items(), ["a", "b"]);
  assert.deepEqual(log.items(), ["a", "b"]);
  await appendFile(file, "c\n");
  assert.deepEqual(log.items(), ["a", "b", "c"]);
  assert.deepEqual(parsed, ["a", "b", "c"]);
});

test("waits for the end of a line, also within a letter", async (t) => {
  const bytes = Buffer.from("für\n");
  const file = await logFile(t, "a\n");
  await appendFile(file, bytes.subarray(0, 2));
  const log = new LogReader(file, (line) => [line]);
  assert.deepEqual(log.items(), ["a"]);
  await appendFile(file, bytes.subarray(2));
  assert.deepEqual(log.items(), ["a", "für"]);
});

test("leaves out what is not a list item", async (t) => {
  const file = await logFile(t, "1\nx\n2\n");
  const log = new LogReader(file, (line) => (line === "x" ? [] : [Number(line)]));
  assert.deepEqual(log.items(), [1, 2]);
});
