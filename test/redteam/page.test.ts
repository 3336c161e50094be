/** The page of `hookpolicy ui`, and the other users of the machine. */

import assert from "node:assert/strict";
import {
  chmodSync,
  existsSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  statSync,
  watch,
  writeFileSync,
} from "node:fs";
import { once } from "node:events";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import test from "node:test";
import { fileURLToPath } from "node:url";
import { openBrowser } from "../../src/cli/ui/open-browser.ts";

const URL_WITH_TOKEN = "http://127.0.0.1:8088/0123456789-_secret/";

test(
  "the arguments of the browser's process do not have the token",
  { skip: process.platform !== "linux" },
  async (t) => {
    const folder = mkdtempSync(join(tmpdir(), "hookpolicy-"));
    const opener = join(folder, "xdg-open");
    writeFileSync(
      opener,
      `#!/bin/sh\necho "$@" >${folder}/writing\nmv ${folder}/writing ${folder}/arguments\n`,
    );
    chmodSync(opener, 0o700);
    const path = process.env["PATH"];
    process.env["PATH"] = `${folder}:${path}`;
    const watcher = watch(folder);
    t.after(() => {
      process.env["PATH"] = path;
      watcher.close();
      rmSync(folder, { recursive: true });
    });
    const forget = openBrowser(URL_WITH_TOKEN, assert.fail);
    while (!existsSync(join(folder, "arguments"))) await once(watcher, "change");
    const given = readFileSync(join(folder, "arguments"), "utf8").trim();
    assert.ok(!given.includes("secret"), given);
    const file = fileURLToPath(given);
    assert.ok(readFileSync(file, "utf8").includes(URL_WITH_TOKEN));
    const others = [file, dirname(file)].map((each) => statSync(each).mode & 0o077);
    assert.deepEqual(others, [0, 0]);
    forget();
    assert.ok(!existsSync(dirname(file)));
  },
);
