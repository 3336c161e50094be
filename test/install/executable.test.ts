/** The single executable: the program with Node.js in it, alone on a machine, and as the kubectl plugin that krew installs. */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { delimiter, dirname, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { promisify } from "node:util";
import metadata from "../../package.json" with { type: "json" };
import { askAdmission } from "../apiserver/admission-call.ts";
import { controlPlaneBinaries, krewBinaries } from "../controlplane/binaries.ts";
import { type ControlPlane, startControlPlane } from "../controlplane/control-plane.ts";
import { installClusterDefinition } from "../controlplane/cluster-api.ts";
import { createCluster } from "../controlplane/lab.ts";
import { installHookPolicy, startOperator } from "../controlplane/operator.ts";
import { approvalRule, policyRef, storePolicy } from "../controlplane/policies.ts";
import { buildExecutable, executable, releaseWorkingTree } from "./releasing.ts";
import { IMAGE } from "./tools.ts";

const run = promisify(execFile);

let folder: string;
let program: string;
before(() => {
  folder = mkdtempSync(join(tmpdir(), "hookpolicy-executable-"));
  program = executable();
});
after(() => rmSync(folder, { recursive: true, force: true }));

/** Nothing is in the PATH, and no file of the repository is near. */
async function alone(command: string, ...args: readonly string[]): Promise<string> {
  return (await run(command, args, { cwd: folder, env: { PATH: "", HOME: folder } })).stdout;
}

test("is the same bytes again, in another folder", () => {
  const again = join(folder, "again/hookpolicy");
  buildExecutable(again);
  assert.ok(readFileSync(program).equals(readFileSync(again)));
});

test("needs neither Node.js nor another file to check and to test policies", async () => {
  assert.equal(await alone(program, "--version"), `${metadata.version}\n`);
  await alone(program, "init", "starter");
  assert.equal(await alone(program, "validate", "starter/policies"), "1 HookPolicy: no errors\n");
  assert.match(await alone(program, "test", "starter/tests"), /4 passed; 1 suite/);
  await assert.rejects(alone(program, "validate", "missing"), { code: 2 });
});

test("is a plugin of kubectl by its name", async () => {
  const plugin = join(folder, "kubectl-hookpolicy");
  await symlink(program, plugin);
  assert.match(await alone(plugin, "help"), /^Usage: kubectl hookpolicy /);
  const completer = join(folder, "kubectl_complete-hookpolicy");
  await symlink(program, completer);
  assert.match(await alone(completer, "expl"), /^explain\t/m);
});

describe("with an API server", () => {
  let cp: ControlPlane;
  let path: string;
  before(async () => {
    cp = await startControlPlane({ seed: "cluster" });
    await installHookPolicy(cp);
    await installClusterDefinition(cp);
    await createCluster(cp, { namespace: "team-a", name: "prod-1" });
    await storePolicy(cp, policyRef("team-a", "protect"), { rules: [approvalRule("BeforeClusterDelete")] });
    path = [dirname((await controlPlaneBinaries()).kubectl), process.env["PATH"]].join(delimiter);
  });
  after(async () => await cp?.stop());

  test("explains a Cluster", async () => {
    const args = ["explain", "team-a/prod-1", "--hook", "BeforeClusterDelete"];
    const said = await alone(program, ...args, "--kubeconfig", cp.adminKubeconfig);
    assert.match(said, /protect/);
  });

  test("runs the operator, which reviews policies", async () => {
    const operator = await startOperator(cp, { name: "executable", executable: program });
    const answered = await operator.ask("BeforeClusterDelete", { cluster: await clusterOf("prod-1") });
    assert.ok((answered.retryAfterSeconds ?? 0) > 0);
    const until = [{ name: "wrong", expression: "cluster.(" }];
    const policy = {
      apiVersion: "hookpolicy.dev/v1alpha1",
      kind: "HookPolicy",
      metadata: { name: "wrong", namespace: "team-a" },
      spec: { rules: [{ name: "wrong", hooks: ["BeforeClusterDelete"], until }] },
    };
    const response = await cp.waitFor("the review", async () => {
      const review = JSON.parse(await askAdmission({ cp, operator }, policy));
      return review.response.status?.code === 503 ? undefined : review.response; // a busy machine, not an answer
    });
    assert.equal(response.allowed, false);
    assert.match(response.status.message, /spec\.rules\[0\]\.until\[0\]\.expression/);
    await operator.daemon.stop();
  });

  async function clusterOf(name: string): Promise<object> {
    const apiVersion = "cluster.x-k8s.io/v1beta2";
    const { status: _, ...cluster } = await cp.get({
      apiVersion,
      kind: "Cluster",
      namespace: "team-a",
      name,
    });
    return cluster;
  }

  test("is installed by krew, whose index would take its manifest", async () => {
    const downloads = "https://downloads.example.com/v1";
    const out = releaseWorkingTree(join(folder, "release"), { IMAGE, DOWNLOADS: downloads });
    const manifest = join(out, "krew/hookpolicy.yaml");
    const archive = join(out, `hookpolicy-${metadata.version}-linux-x64.tar.gz`);
    const { krew, validate } = await krewBinaries();
    const env = { KREW_ROOT: join(folder, "krew"), HOME: folder, PATH: path, KUBECONFIG: cp.adminKubeconfig };
    await run(validate, ["-manifest", manifest, "-skip-install"], { env });
    const { stderr } = await run(krew, ["install", "--manifest", manifest, "--archive", archive], { env });
    assert.match(stderr, /Installed plugin: hookpolicy/);
    const withPlugin = { env: { ...env, PATH: [join(folder, "krew/bin"), path].join(delimiter) } };
    const { stdout } = await run("kubectl", ["hookpolicy", "explain", "team-a/prod-1"], withPlugin);
    assert.match(stdout, /team-a\/prod-1/);
    // As its caveats say, and krew prints.
    const [link = ""] = /ln -s .*$/m.exec(stderr) ?? [];
    await run("sh", ["-c", link], withPlugin);
    const completed = await run("kubectl", ["__complete", "hookpolicy", "doc"], withPlugin);
    assert.match(completed.stdout, /^doctor\t/m);
  });
});
