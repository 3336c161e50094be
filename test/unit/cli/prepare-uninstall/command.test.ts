import assert from "node:assert/strict";
import { execFileSync, spawn } from "node:child_process";
import { text } from "node:stream/consumers";
import test, { type TestContext } from "node:test";
import { answering } from "../apiserver.ts";
import { MAIN } from "../program.ts";
import { hookpolicy } from "../resident.ts";

const EXTENSION = "/apis/runtime.cluster.x-k8s.io/v1beta2/extensionconfigs/hookpolicy";

/** An API server of one ExtensionConfig and nothing else, and the kubeconfig for it. */
async function apiServer(t: TestContext): Promise<{ kubeconfig: string; deleted: () => string[] }> {
  const { kubeconfig, asked } = await answering(t, {
    "GET /apis/runtime.cluster.x-k8s.io": { preferredVersion: { version: "v1beta2" } },
    [`GET ${EXTENSION}`]: { metadata: { name: "hookpolicy", uid: "1", resourceVersion: "1" } },
    [`DELETE ${EXTENSION}`]: { kind: "Status", status: "Success" },
  });
  const verb = "DELETE ";
  const deleted = (): string[] =>
    asked.filter((each) => each.startsWith(verb)).map((each) => each.slice(verb.length));
  return { kubeconfig, deleted };
}

test("without a terminal to ask on, nothing is done unless told so", async (t) => {
  const { kubeconfig, deleted } = await apiServer(t);
  const { code, stdout, stderr } = await hookpolicy(["prepare-uninstall", "--kubeconfig", kubeconfig]);
  assert.deepEqual([code, stdout], [2, "would delete ExtensionConfig hookpolicy\n"]);
  assert.match(stderr, /^error: standard input is no terminal to ask on: confirm with --yes/);
  const dry = await hookpolicy(["prepare-uninstall", "--dry-run", "--yes", "--kubeconfig", kubeconfig]);
  assert.deepEqual(dry, { code: 0, stdout: "would delete ExtensionConfig hookpolicy\n", stderr: "" });
  assert.deepEqual(deleted(), []);
  const done = await hookpolicy(["prepare-uninstall", "--yes", "--kubeconfig", kubeconfig]);
  assert.deepEqual(done, { code: 0, stdout: "delete ExtensionConfig hookpolicy ... done\n", stderr: "" });
  assert.deepEqual(deleted(), [EXTENSION]);
});

/** On a terminal of util-linux' script(1), answering the question. */
async function answered(kubeconfig: string, answer: string): Promise<string> {
  const command = `${process.execPath} ${MAIN} prepare-uninstall --kubeconfig ${kubeconfig}`;
  const child = spawn("script", ["--quiet", "--return", "--command", command, "/dev/null"]);
  child.stdout.on("data", (data: Buffer) => {
    if (data.includes("[y/N]")) child.stdin.write(`${answer}\n`);
  });
  return await text(child.stdout);
}

const HAS_TERMINALS = ((): boolean => {
  try {
    return execFileSync("script", ["--version"], { encoding: "utf8" }).includes("util-linux");
  } catch {
    return false;
  }
})();

test("on a terminal the steps are shown, and only yes is yes", { skip: !HAS_TERMINALS }, async (t) => {
  const { kubeconfig, deleted } = await apiServer(t);
  for (const answer of ["", "n", "yep"]) {
    const printed = await answered(kubeconfig, answer);
    assert.match(printed, /would delete ExtensionConfig hookpolicy/);
    assert.match(printed, /error: not confirmed: nothing was changed/);
  }
  assert.deepEqual(deleted(), []);
  assert.match(await answered(kubeconfig, "y"), /\ndelete ExtensionConfig hookpolicy \.\.\. done/);
  assert.deepEqual(deleted(), [EXTENSION]);
});

test("a time that is none is refused", async () => {
  const wrong = await hookpolicy(["prepare-uninstall", "--yes", "--timeout", "soon"]);
  assert.equal(wrong.code, 2);
  assert.match(wrong.stderr, /--timeout.*Allowed: a duration such as 90s/);
});
