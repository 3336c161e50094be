import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdir, readFile, readdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import test from "node:test";
import { Ajv } from "ajv";
import { parse } from "yaml";
import { folder, hookpolicy as built } from "../program.ts";
import { editorSchema } from "../../../../src/cli/init/editor-schema.ts";
import { rawRollout } from "../raw.ts";
import { hookpolicy, onFiles } from "../resident.ts";

const FILES = [
  "policies/protect-production.yaml",
  "tests/protect-production.yaml",
  ".github/workflows/hookpolicy.yaml",
  ".gitlab-ci.yml",
  ".pre-commit-config.yaml",
  ".hookpolicy/schema.json",
];

async function read(cwd: string, name: string) {
  return parse(await readFile(join(cwd, name), "utf8"));
}

/** What a shell would run, without what needs one. */
function argsOf(line: string): string[] {
  return line
    .replace(/ >>? .*$/, "")
    .split(" ")
    .slice(1);
}

test("a folder that cannot be made is told, where the system says that a part of its path is missing", async () => {
  const { code, stderr } = await hookpolicy(["init", "/proc/no-such-folder"]);
  assert.equal(code, 1);
  assert.match(stderr, /^error: cannot write \/proc\/no-such-folder\S+ .*\n$/);
});

test("a folder below folders that do not exist yet is made with them", async (t) => {
  const cwd = await folder(t, {});
  const { code, stderr } = await hookpolicy(["init", "a/b/../c/"], { cwd });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  assert.deepEqual((await readdir(join(cwd, "a/c"))).length > 0, true);
});

test("every file is written, and the commands of every pipeline pass", async (t) => {
  const cwd = await folder(t, {});
  const { code, stdout, stderr } = await hookpolicy(["init"], { cwd });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  const [wrote, note = ""] = stdout.split("\n\n");
  assert.deepEqual(
    wrote?.split("\n"),
    FILES.map((name) => `wrote ${name}`),
  );
  assert.match(note, /^HookPolicy is on no public registry\. Put hookpolicy-npm-\S+\.tgz of a release where/);
  const github = await read(cwd, ".github/workflows/hookpolicy.yaml");
  const gitlab = await read(cwd, ".gitlab-ci.yml");
  const preCommit = await read(cwd, ".pre-commit-config.yaml");
  const lines: string[] = [
    ...github.jobs.check.steps.flatMap(({ run }: { run?: string }) => run ?? []),
    ...gitlab.hookpolicy.script,
    ...preCommit.repos[0].hooks.map((hook: { entry: string }) => hook.entry),
  ];
  const ours = new Set(lines.filter((line) => line.startsWith("hookpolicy ")));
  assert.equal(ours.size, 5);
  for (const line of ours) {
    const outcome = await hookpolicy(argsOf(line), { cwd });
    assert.equal(outcome.code, 0, `${line}\n${outcome.stdout}${outcome.stderr}`);
  }
});

test("the pipelines name the package themselves, because variables reach no fork, and say so while they do not", async (t) => {
  const cwd = await folder(t, {});
  await hookpolicy(["init"], { cwd });
  const { jobs } = await read(cwd, ".github/workflows/hookpolicy.yaml");
  const gitlab = await read(cwd, ".gitlab-ci.yml");
  const install = jobs.check.steps.find(({ run }: { run?: string }) => run?.includes("npm install"));
  for (const [env, script] of [
    [jobs.check.env, install.run],
    [gitlab.hookpolicy.variables, gitlab.hookpolicy.script.join("\n")],
  ]) {
    assert.deepEqual(env, { HOOKPOLICY_PACKAGE: "", HOOKPOLICY_SHA256: "" });
    const { status, stdout } = spawnSync("sh", ["-ec", script], { cwd, env, encoding: "utf8" });
    assert.deepEqual(
      [status, stdout],
      [1, "set HOOKPOLICY_PACKAGE and HOOKPOLICY_SHA256 in this pipeline\n"],
    );
  }
});

test("the pipelines check what is beside the policies, and fail for a warning", async (t) => {
  const cwd = await folder(t, {});
  await hookpolicy(["init"], { cwd });
  const gitlab = await read(cwd, ".gitlab-ci.yml");
  const validate = gitlab.hookpolicy.script.find((line: string) => line.startsWith("hookpolicy validate"));
  await mkdir(join(cwd, "rollouts"));
  const rollout = rawRollout("upgrades", { maxConcurrency: 0 });
  await writeFile(join(cwd, "rollouts/upgrades.yaml"), JSON.stringify(rollout));
  const { code, stdout } = await hookpolicy(argsOf(validate), { cwd });
  assert.equal(code, 1, stdout);
  assert.match(stdout, /rollouts\/upgrades\.yaml:1:\d+: warning: .* \[nothing-begins\]/);
});

test("the policy and the suite name a schema of the folder, which they fit and a mistake does not", async (t) => {
  const cwd = await folder(t, {});
  await hookpolicy(["init"], { cwd });
  for (const name of FILES.slice(0, 2)) {
    const text = await readFile(join(cwd, name), "utf8");
    const [, schema = ""] = /^# yaml-language-server: \$schema=(\S+)\n/.exec(text) ?? [];
    const path = join(cwd, dirname(name), schema);
    const fits = new Ajv({ strict: false }).compile(JSON.parse(await readFile(path, "utf8")));
    assert.ok(fits(parse(text)), `${name}: ${JSON.stringify(fits.errors)}`);
    assert.equal(fits(parse(text.replace("spec:", "sepc:"))), false, name);
  }
});

test("the built program has the schema in it", async (t) => {
  const cwd = await folder(t, {});
  assert.equal((await built(["init"], { cwd })).code, 0);
  assert.equal(await readFile(join(cwd, ".hookpolicy/schema.json"), "utf8"), editorSchema());
});

test("a mistake in the policy fails the suite", async (t) => {
  const cwd = await folder(t, {});
  await hookpolicy(["init"], { cwd });
  const path = join(cwd, "policies/protect-production.yaml");
  await writeFile(path, (await readFile(path, "utf8")).replace("valueFrom: ClusterUID", "value: yes-please"));
  assert.equal((await hookpolicy(["test", "tests/"], { cwd })).code, 1);
});

test("a file that is there already is left as it is", async (t) => {
  const cwd = await folder(t, { "new/.gitlab-ci.yml": "mine" });
  const { code, stdout, stderr } = await hookpolicy(["init", "new"], { cwd });
  assert.equal(code, 0);
  assert.equal(stdout.match(/^wrote /gm)?.length, FILES.length - 1);
  assert.equal(stderr, "new/.gitlab-ci.yml exists: left as it is\n");
  assert.equal(await readFile(join(cwd, "new/.gitlab-ci.yml"), "utf8"), "mine");
});

test("a folder that cannot be made is one line and exits 1", async (t) => {
  const { code, stdout, stderr } = await onFiles(t, { file: "" }, ["init", "file"]);
  assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
  assert.match(
    stderr,
    /^error: cannot write file\/policies\/protect-production\.yaml: ENOTDIR: not a directory.*\n$/,
  );
});
