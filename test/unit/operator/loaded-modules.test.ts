import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import test from "node:test";
import { bundle } from "../../bundle.ts";

/** Modules of Node.js itself are part of an idle process's memory, too. */
test("the operator does not load Node.js's own undici in addition to its dependency", () => {
  const print = 'process.on("exit", () => console.error(process.moduleLoadList.join("\\n")));';
  const flags = ["--import", `data:text/javascript,${encodeURIComponent(print)}`];
  const args = [...flags, bundle(), "run", "--kubeconfig=/missing"];
  const { stderr } = spawnSync(process.execPath, args, { encoding: "utf8" });
  const loaded = stderr.split("\n");
  assert.equal(loaded.includes("NativeModule http"), true, "it got as far as its servers");
  assert.equal(loaded.includes("NativeModule internal/deps/undici/undici"), false);
});
