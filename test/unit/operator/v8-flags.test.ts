import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { promisify } from "node:util";

const ROOT = join(import.meta.dirname, "../../..");

/** V8 ignores a flag that it does not have, and what it saves is then lost. */
test("V8 has every flag that the operator and its Deployment set", async () => {
  const { stdout } = await promisify(execFile)(process.execPath, ["--v8-options"]);
  const files = ["src/operator/operator.ts", "manifests/deployment.yaml"];
  const texts = await Promise.all(files.map(async (file) => await readFile(join(ROOT, file), "utf8")));
  const flags = texts.flatMap((text) => text.match(/--(?:(?:wasm|max)-[a-z-]+(?==)|no-[a-z-]+)/g) ?? []);
  assert.deepEqual(flags, [
    "--wasm-tiering-budget",
    "--no-allocation-site-pretenuring",
    "--no-sparkplug",
    "--max-old-space-size-percentage",
    "--max-semi-space-size",
  ]);
  const missing = flags.filter((flag) => !stdout.includes(`  ${flag.replace("--no-", "--")} (`));
  assert.deepEqual(missing, ["--max-old-space-size-percentage"], "which is Node.js's own");
});
