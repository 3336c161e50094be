import assert from "node:assert/strict";
import { chmodSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import test, { type TestContext } from "node:test";
import { openBrowser } from "../../../../src/cli/ui/open-browser.ts";

/** A folder for temporary files, which is also the only one with programs. */
function place(t: TestContext): string {
  const folder = mkdtempSync(join(tmpdir(), "hookpolicy-"));
  const { PATH: path, TMPDIR: temporary } = process.env;
  Object.assign(process.env, { PATH: folder, TMPDIR: folder });
  t.after(() => {
    process.env["PATH"] = path;
    if (temporary === undefined) delete process.env["TMPDIR"];
    else process.env["TMPDIR"] = temporary;
    rmSync(folder, { recursive: true });
  });
  return folder;
}

const LINUX = { skip: process.platform !== "linux" };

test("where no file can be written, no browser is opened, and the command hears why", (t) => {
  process.env["TMPDIR"] = join(place(t), "missing");
  const told: string[] = [];
  openBrowser("http://127.0.0.1:8088/", (why) => told.push(why))();
  assert.match(told.join(), /^ENOENT: [^,]+, mkdtemp [^,]+$/);
});

test("says where there is no program that opens a browser", LINUX, async (t) => {
  const folder = place(t);
  const { promise, resolve } = Promise.withResolvers<string>();
  const forget = openBrowser("http://127.0.0.1:8088/", resolve);
  assert.equal(await promise, "spawn xdg-open ENOENT");
  forget();
  assert.deepEqual(readdirSync(folder), []);
});

test("where this program finds no browser, the command hears it", LINUX, async (t) => {
  const opener = join(place(t), "xdg-open");
  writeFileSync(opener, "#!/bin/sh\nexit 3\n");
  chmodSync(opener, 0o700);
  const { promise, resolve } = Promise.withResolvers<string>();
  openBrowser("http://127.0.0.1:8088/", resolve);
  assert.equal(await promise, "xdg-open ended with exit code 3");
});
