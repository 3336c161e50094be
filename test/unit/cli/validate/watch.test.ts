/** `--watch`: the check runs again after a change, without an end. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { mkdir, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import test from "node:test";
import { setTimeout } from "node:timers/promises";
import { folder, MAIN } from "../program.ts";
import { hookpolicy } from "../resident.ts";

const policy = (hook: string): string => `apiVersion: hookpolicy.dev/v1alpha1
kind: HookPolicy
metadata: {name: a, namespace: team-a}
spec:
  rules:
    - name: confirmed
      hooks: [${hook}]
      until:
        - {name: approved, annotation: {key: a, valueFrom: ClusterUID}}
`;

test("--watch checks again when a file is replaced, in new folders, too, and not when other files are written", async (t) => {
  const cwd = await folder(t, { "policies/a.yaml": policy("BeforeClusterDelete") });
  const child = spawn(process.execPath, [MAIN, "validate", "policies", "--watch"], { cwd });
  t.after(() => child.kill());
  let output = "";
  let seen: () => void = () => undefined;
  child.stdout.setEncoding("utf8").on("data", (text: string) => {
    output += text;
    seen();
  });
  const until = async (pattern: RegExp): Promise<void> => {
    while (!pattern.test(output)) await new Promise<void>((done) => (seen = done));
    output = "";
  };
  await until(/1 HookPolicy: no errors\n\n$/);
  await writeFile(join(cwd, "new.yaml"), policy("BeforeClusterDelet"));
  await rename(join(cwd, "new.yaml"), join(cwd, "policies/a.yaml"));
  await until(/1 HookPolicy: 1 error\n\n$/);
  await writeFile(join(cwd, "policies/build.log"), "done");
  await setTimeout(500);
  assert.equal(output, "");
  await writeFile(join(cwd, "policies/a.yaml"), policy("BeforeClusterDelete"));
  await until(/1 HookPolicy: no errors\n\n$/);
  await mkdir(join(cwd, "policies/more"));
  await until(/1 HookPolicy: no errors\n\n$/);
  await writeFile(
    join(cwd, "policies/more/b.yaml"),
    policy("BeforeClusterDelete").replace("name: a", "name: b"),
  );
  await until(/2 HookPolicies: no errors\n\n$/);
  await rename(join(cwd, "policies/more"), join(cwd, "elsewhere"));
  await until(/1 HookPolicy: no errors\n\n$/);
  assert.equal(child.exitCode, null);
});

for (const args of [["-"], [".", "-o", "json"]]) {
  test(`--watch is refused with ${args.join(" ")}`, async () => {
    const { code, stderr } = await hookpolicy(["validate", "--watch", ...args]);
    assert.equal(code, 2);
    assert.match(stderr, /^error: --watch prints text, about files: leave out -o and -/);
  });
}
