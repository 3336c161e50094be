/** Commands that talk to no API server start without what talks to one. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { resolve } from "node:path";
import test from "node:test";
import { promisify } from "node:util";
import { folder, hookpolicy } from "./program.ts";

/** Which packages are loaded cannot be seen of the bundle. */
const SOURCE = resolve(import.meta.dirname, "../../../src/main.ts");

/** Prints the packages that were loaded, as the last line. */
const RECORDER = `
import { registerHooks } from "node:module";
const seen = new Set();
registerHooks({
  load(url, context, next) {
    const [, name] = /node_modules\\/((?:@[^/]+\\/)?[^/]+)/.exec(url) ?? [];
    if (name !== undefined) seen.add(name);
    return next(url, context);
  },
});
process.on("exit", () => process.stdout.write("\\n" + JSON.stringify([...seen])));
`;

async function loaded(cwd: string, ...args: readonly string[]): Promise<readonly string[]> {
  const recorder = `data:text/javascript,${encodeURIComponent(RECORDER)}`;
  const { stdout } = await promisify(execFile)(process.execPath, ["--import", recorder, SOURCE, ...args], {
    cwd,
  });
  return JSON.parse(stdout.split("\n").at(-1) ?? "") as readonly string[];
}

const CLUSTER =
  '{"apiVersion":"cluster.x-k8s.io/v1beta2","kind":"Cluster","metadata":{"namespace":"a","name":"c"}}';
const EXPRESSIONS = ["@bufbuild/cel", "ajv"];
const CLIENT = ["@kubernetes/client-node", "undici", "fastify", "prom-client"];

for (const [line, without] of [
  ["--version", [...CLIENT, ...EXPRESSIONS]],
  ["explain --help", [...CLIENT, ...EXPRESSIONS]],
  ["ui --help", [...CLIENT, ...EXPRESSIONS]],
  ["completion bash", [...CLIENT, ...EXPRESSIONS]],
  ["__complete explain --ho", [...CLIENT, ...EXPRESSIONS]],
  ["validate .", CLIENT],
  ["explain a/c -f .", CLIENT],
  ["windows -f .", CLIENT],
] as const) {
  test(`${line} loads no more than it needs`, async (t) => {
    const cwd = await folder(t, { "c.json": CLUSTER });
    const packages = await loaded(cwd, ...line.split(" "));
    assert.ok(packages.includes("commander"), "the recorder works");
    assert.deepEqual(
      without.filter((name) => packages.includes(name)),
      [],
    );
  });
}

test("objects are validated by code that was made when the program was built", async (t) => {
  const policy =
    '{"apiVersion":"hookpolicy.dev/v1alpha1","kind":"HookPolicy","metadata":{"name":"p"},"spec":{}}';
  const suite = '{"apiVersion":"cli.hookpolicy.dev/v1alpha1","kind":"HookPolicyTest","spec":{}}';
  const cwd = await folder(t, { "p.json": policy, "s.json": suite });
  const env = { NODE_OPTIONS: "--disallow-code-generation-from-strings" };
  const { stdout, stderr } = await hookpolicy(["validate", "."], { cwd, env });
  const progress = /^checked \d+ of \d+ .*\n/gm; // on a busy machine
  assert.equal(stderr.replaceAll(progress, ""), "");
  assert.match(stdout, /spec\.rules: required field is missing/);
  const tested = await hookpolicy(["test", "s.json"], { cwd, env });
  assert.match(tested.stdout + tested.stderr, /spec\.clusters: required field is missing/);
});

test("a date on the command line needs a time zone that is known, and the message says so", async () => {
  const { code, stderr } = await hookpolicy(["windows", "--at", "2026-12-11"], { env: { TZ: "" } });
  assert.equal(code, 2, stderr);
  assert.match(
    stderr,
    /--at .*Allowed: a time with its offset, .* \(this machine's time zone is not known\)/,
  );
});
