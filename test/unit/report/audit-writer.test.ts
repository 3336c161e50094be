/** Writes lines in the background: callers never wait or fail, and every lost line is reported. */

import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { closeSync, constants, openSync, readSync } from "node:fs";
import { chmod, mkdtemp, readFile, rename, rm, stat, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Writable } from "node:stream";
import test, { afterEach, beforeEach, describe } from "node:test";
import type { Logger } from "../../../src/lib/logger.ts";
import { type LineTarget, AuditWriter } from "../../../src/report/audit-writer.ts";
import { FileTarget, streamTarget } from "../../../src/report/audit-targets.ts";
import { silent } from "../memory/fixtures.ts";

let folder: string;
let file: string;
beforeEach(async () => {
  folder = await mkdtemp(join(tmpdir(), "hookpolicy-audit-"));
  file = join(folder, "audit.log");
});
afterEach(async () => await rm(folder, { recursive: true, force: true }));

interface Lab {
  readonly writer: AuditWriter;
  readonly counts: { written: number; dropped: number };
  readonly said: string[];
  /** Until so many lines were written or dropped. */
  readonly reached: (result: "written" | "dropped", count: number) => Promise<void>;
}

const MEBIBYTE = `${"x".repeat(1024 * 1024 - 1)}\n`;

function writing(target: LineTarget): Lab {
  const counts = { written: 0, dropped: 0 };
  const said: string[] = [];
  const waiting: (() => void)[] = [];
  const say = (message: string): void => void said.push(message);
  const log: Logger = { ...silent, info: say, warn: say, error: say };
  const writer = new AuditWriter({
    target,
    log,
    onLines: (result, count) => {
      counts[result] += count;
      for (const check of waiting.splice(0)) check();
    },
  });
  const reached = async (result: "written" | "dropped", count: number): Promise<void> => {
    while (counts[result] < count) await new Promise<void>((resolve) => waiting.push(resolve));
  };
  return { writer, counts, said, reached };
}

describe("a file", () => {
  test("gets every line in order after its old content, and no other user may read it", async (t) => {
    await writeFile(file, "old\n", { mode: 0o600 });
    await chmod(file, 0o640);
    const { writer, reached } = writing(new FileTarget(file));
    t.after(() => writer.close());
    const lines = Array.from({ length: 5000 }, (_, n) => `line ${n} ${"x".repeat(100)}\n`);
    for (const line of lines) writer.write(line);
    await reached("written", 5000);
    assert.equal(await readFile(file, "utf8"), `old\n${lines.join("")}`);
  });

  test("that is new is for its owner and group alone", async () => {
    const target = new FileTarget(file);
    await target.open();
    assert.equal((await stat(file)).mode & 0o007, 0);
    await target.close();
  });

  test("that was renamed keeps what it has; what comes later begins a new one", async (t) => {
    const { writer, reached } = writing(new FileTarget(file));
    t.after(() => writer.close());
    writer.write("one\n");
    await reached("written", 1);
    await rename(file, `${file}.1`);
    writer.write("two\n");
    await reached("written", 2);
    assert.deepEqual([await readFile(`${file}.1`, "utf8"), await readFile(file, "utf8")], ["one\n", "two\n"]);
  });

  test("follows a file that the rotator renamed and created again, or emptied", async (t) => {
    const { writer, reached } = writing(new FileTarget(file));
    t.after(() => writer.close());
    writer.write("one\n");
    await reached("written", 1);
    await rename(file, `${file}.1`);
    await writeFile(file, "");
    writer.write("two\n");
    await reached("written", 2);
    assert.equal(await readFile(file, "utf8"), "two\n");
    await truncate(file);
    writer.write("three\n");
    await reached("written", 3);
    assert.equal(await readFile(file, "utf8"), "three\n");
  });

  test("fails at the start if the folder does not exist, or the path is a folder", async () => {
    await assert.rejects(
      new FileTarget(join(folder, "no", "audit.log")).open(),
      /^Error: cannot write the audit log/,
    );
    await assert.rejects(new FileTarget(folder).open(), /--audit-log/);
  });
});

describe("a disk that is full", () => {
  test("makes lines wait, drops and counts what finds no room, and tells of each once", async () => {
    const { writer, counts, said, reached } = writing(new FileTarget("/dev/full"));
    for (let n = 0; n < 20; n += 1) writer.write(MEBIBYTE);
    assert.deepEqual(counts, { written: 0, dropped: 4 });
    await writer.close();
    await reached("dropped", 20);
    assert.deepEqual(said.toSorted(), [
      "Cannot write the audit log; its lines wait",
      "Dropping lines of the audit log",
    ]);
  });

  test("gets what waited when there is room again, without half a line", async (t) => {
    const target = new FileTarget(file);
    t.after(() => target.close());
    let full = 3;
    const { writer, said, reached } = writing({
      write: async (bytes) => {
        full -= 1;
        if (full >= 0) throw new Error("ENOSPC");
        return await target.write(bytes);
      },
      close: async () => await target.close(),
    });
    writer.write("one\n");
    writer.write("two\n");
    await reached("written", 2);
    assert.equal(await readFile(file, "utf8"), "one\ntwo\n");
    assert.deepEqual(said, [
      "Cannot write the audit log; its lines wait",
      "The audit log is being written again",
    ]);
  });
});

test("a target that takes a part of a line gets the rest of it next", async () => {
  const taken: string[] = [];
  const { writer, reached } = writing({
    write: async (bytes) => {
      taken.push(bytes.subarray(0, 3).toString());
      return Math.min(3, bytes.length);
    },
    close: async () => undefined,
  });
  writer.write("12345678\n");
  await reached("written", 1);
  assert.deepEqual(taken, ["123", "456", "78\n"]);
});

test("a named pipe without a reader blocks no caller, and a later reader gets the waiting lines", async () => {
  execFileSync("mkfifo", [file]);
  const target = new FileTarget(file);
  await target.open();
  const { writer, reached } = writing(target);
  writer.write("one\n");
  const reader = openSync(file, constants.O_RDONLY | constants.O_NONBLOCK);
  await reached("written", 1);
  const bytes = Buffer.alloc(10);
  assert.equal(bytes.toString("utf8", 0, readSync(reader, bytes)), "one\n");
  closeSync(reader);
  await writer.close();
});

describe("a stream", () => {
  test("whose reader does not read drops what does not fit, and blocks no caller", async () => {
    const stuck = new Writable({ write: () => undefined });
    const { writer, counts } = writing(streamTarget(stuck));
    for (let n = 0; n < 20; n += 1) writer.write(MEBIBYTE);
    assert.equal(counts.dropped, 4);
  });

  test("that is broken breaks nothing else", async () => {
    const broken = new Writable({ write: (_chunk, _encoding, done) => done(new Error("EPIPE")) });
    broken.on("error", () => undefined);
    const { writer, counts, said } = writing(streamTarget(broken));
    writer.write("one\n");
    await writer.close();
    assert.deepEqual(counts, { written: 0, dropped: 1 });
    assert.equal(said.length, 2);
  });
});
