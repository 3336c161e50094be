/** action.yml and templates/check.yml: valid by the schemas of GitHub and GitLab, and their scripts do what they say. */

import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { readFileSync } from "node:fs";
import { hash } from "node:crypto";
import { chmod, readFile, rename, writeFile } from "node:fs/promises";
import { text } from "node:stream/consumers";
import { delimiter, join } from "node:path";
import test, { describe, type TestContext } from "node:test";
import { parse, parseAllDocuments } from "yaml";
import metadata from "../../../package.json" with { type: "json" };
import { starterFiles } from "../../../src/cli/init/starter.ts";
import { COMPILE_CACHE } from "../../bundle.ts";
import { folder, MAIN } from "../cli/program.ts";
import { problemsBy, readSchema } from "./published.ts";

const ROOT = join(import.meta.dirname, "../../..");
const ACTION = parse(readFileSync(join(ROOT, "action.yml"), "utf8"));
const COMPONENT = readFileSync(join(ROOT, "templates/check.yml"), "utf8");
const [HEADER] = parseAllDocuments(COMPONENT).map((document) => document.toJS());

type Inputs = Readonly<Record<string, string>>;

interface Step {
  readonly name: string;
  readonly if?: string;
  readonly shell: string;
  readonly env?: Readonly<Record<string, string>>;
  readonly run: string;
}

/** The defaults, and what a user sets. */
function inputsOf(defined: Readonly<Record<string, { readonly default: unknown }>>, given: Inputs): Inputs {
  const unknown = Object.keys(given).filter((name) => !(name in defined));
  assert.deepEqual(unknown, []);
  return {
    ...Object.fromEntries(Object.entries(defined).map(([name, input]) => [name, String(input.default)])),
    ...given,
  };
}

function job(inputs: Inputs): { readonly script: readonly string[]; readonly variables: Inputs } {
  const filled = COMPONENT.replaceAll(/\$\[\[ inputs\.([a-z0-9-]+) \]\]/g, (_, name: string) =>
    JSON.stringify(inputs[name]).slice(1, -1),
  );
  return parseAllDocuments(filled)[1]?.toJS().hookpolicy;
}

/** A folder of `hookpolicy init` with the program in its PATH. */
async function checkout(t: TestContext): Promise<string> {
  const cwd = await folder(t, {
    ...starterFiles(),
    "bin/hookpolicy": `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`,
    summary: "",
    path: "",
  });
  await chmod(join(cwd, "bin/hookpolicy"), 0o755);
  return cwd;
}

/** npm, as far as it is called: `pack` copies what it is given, and `install` the program below the prefix. */
async function writeNpm(cwd: string): Promise<void> {
  const install = '[ $3 = --prefix ] && mkdir -p "$4/bin" && cp hookpolicy "$4/bin" && echo "installed $5"';
  const npm = `[ $1 = pack ] && exec cp "$5" "$4"/p.tgz; ${install}`;
  await writeFile(join(cwd, "bin/npm"), `#!/bin/sh\n${npm}\n`, { mode: 0o755 });
}

interface Outcome {
  readonly code: number;
  readonly output: string;
}

async function shell(cwd: string, command: readonly string[], script: string, env: Inputs): Promise<Outcome> {
  const added = (await readFile(join(cwd, "path"), "utf8")).split("\n").filter((line) => line !== "");
  const PATH = [...added, join(cwd, "bin"), process.env["PATH"]].join(delimiter);
  const own = {
    GITHUB_STEP_SUMMARY: join(cwd, "summary"),
    GITHUB_PATH: join(cwd, "path"),
    RUNNER_TEMP: cwd,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
  };
  const [program = "sh", ...args] = command;
  const child = spawn(program, [...args, "-c", script], {
    cwd,
    env: { ...process.env, ...own, ...env, PATH },
  });
  const ended = new Promise<number>((done) => child.once("close", (code) => done(code ?? -1)));
  const [out, err] = await Promise.all([text(child.stdout), text(child.stderr)]);
  return { code: await ended, output: out + err };
}

/** As a runner does it: one shell for each step, in that order, until one fails. */
async function github(cwd: string, given: Inputs = {}): Promise<Outcome> {
  const inputs = inputsOf(ACTION.inputs, given);
  const steps: readonly Step[] = ACTION.runs.steps;
  let output = "";
  for (const { run, env = {}, if: condition } of steps) {
    const [, tested] = /^inputs\.([a-z0-9-]+) != ''$/.exec(condition ?? "") ?? [];
    if (tested !== undefined && inputs[tested] === "") continue;
    const filled = Object.entries(env).map(([name, value]) => [
      name,
      value.replaceAll(
        /\$\{\{ inputs\.([a-z0-9-]+) \}\}/g,
        (_, input: string) => inputs[input] ?? assert.fail(input),
      ),
    ]);
    const bash = ["bash", "--noprofile", "--norc", "-eo", "pipefail"];
    const ran = await shell(cwd, bash, run, Object.fromEntries(filled));
    output += ran.output;
    if (ran.code !== 0) return { code: ran.code, output };
  }
  return { code: 0, output: output + (await readFile(join(cwd, "summary"), "utf8")) };
}

/** As a runner does it: one shell for all lines. */
async function gitlab(cwd: string, given: Inputs = {}): Promise<Outcome> {
  const { script, variables } = job(inputsOf(HEADER.spec.inputs, given));
  return await shell(cwd, ["sh", "-e"], script.join("\n"), variables);
}

describe("the schemas of the platforms accept", () => {
  test("the action, and refuse a step without a shell", () => {
    const problems = problemsBy(readSchema("github-action"));
    assert.deepEqual(problems(ACTION), []);
    const [first] = ACTION.runs.steps;
    const wrong = { ...ACTION, runs: { ...ACTION.runs, steps: [{ ...first, shell: undefined }] } };
    assert.notDeepEqual(problems(JSON.parse(JSON.stringify(wrong))), []);
  });

  test("the component and the pipeline of hookpolicy init, and refuse an input of an unknown type", () => {
    const problems = problemsBy(readSchema("gitlab-ci"));
    const hookpolicy = job(inputsOf(HEADER.spec.inputs, {}));
    assert.deepEqual(problems(HEADER), []);
    assert.deepEqual(problems({ hookpolicy }), []);
    assert.deepEqual(problems(parse(starterFiles()[".gitlab-ci.yml"] ?? "")), []);
    assert.notDeepEqual(problems({ spec: { inputs: { stage: { type: "word" } } } }), []);
    assert.notDeepEqual(problems({ hookpolicy: { script: 1 } }), []);
  });
});

test("both name the package that they belong to, and offer the same inputs with the same defaults", () => {
  const { stage, image, ...shared } = HEADER.spec.inputs;
  assert.ok(stage !== undefined && image !== undefined);
  assert.deepEqual(Object.keys(shared), Object.keys(ACTION.inputs));
  assert.deepEqual(inputsOf(shared, {}), inputsOf(ACTION.inputs, {}));
  for (const inputs of [ACTION.inputs, shared])
    assert.ok(inputs.package.description.startsWith(`hookpolicy-npm-${metadata.version}.tgz `));
});

test("no input of the action becomes part of a script", () => {
  const steps: readonly Step[] = ACTION.runs.steps;
  for (const { run, name } of steps) assert.doesNotMatch(run, /\$\{\{/, name);
});

for (const [name, check] of [
  ["GitHub's action", github],
  ["GitLab's component", gitlab],
] as const) {
  describe(name, () => {
    test("passes in a folder of hookpolicy init", async (t) => {
      const cwd = await checkout(t);
      const { code, output } = await check(cwd);
      assert.equal(code, 0, output);
    });

    test("installs a package with the right checksum, and nothing else", async (t) => {
      const cwd = await checkout(t);
      await rename(join(cwd, "bin/hookpolicy"), join(cwd, "hookpolicy"));
      await writeFile(join(cwd, "p.tgz"), "package");
      await writeNpm(cwd);
      const none = await check(cwd);
      assert.equal(none.code, 1);
      assert.match(none.output, /set the inputs package and sha256/);
      const wrong = await check(cwd, { package: "p.tgz", sha256: "0".repeat(64) });
      assert.equal(wrong.code, 1);
      assert.match(wrong.output, /FAILED/, wrong.output);
      assert.doesNotMatch(wrong.output, /installed/);
      const right = await check(cwd, { package: "p.tgz", sha256: hash("sha256", "package") });
      assert.equal(right.code, 0, right.output);
      assert.match(right.output, /installed \S+\.tgz/);
    });

    test("installs the package that it is given, whatever a runner has kept of an earlier job", async (t) => {
      const cwd = await checkout(t);
      await rename(join(cwd, "bin/hookpolicy"), join(cwd, "hookpolicy"));
      await writeFile(join(cwd, "bin/hookpolicy"), "#!/bin/sh\necho earlier; exit 9\n", { mode: 0o755 });
      await writeFile(join(cwd, "p.tgz"), "package");
      await writeNpm(cwd);
      const { code, output } = await check(cwd, { package: "p.tgz", sha256: hash("sha256", "package") });
      assert.equal(code, 0, output);
      assert.doesNotMatch(output, /earlier/);
      assert.match(await readFile(join(cwd, "bin/hookpolicy"), "utf8"), /earlier/);
    });

    test("fails on a mistake in a policy, and on a suite that fails", async (t) => {
      const cwd = await checkout(t);
      const file = join(cwd, "policies/protect-production.yaml");
      const policy = await readFile(file, "utf8");
      await writeFile(file, policy.replace("0 22 * * FRI", "0 22 * * THU"));
      const failed = await check(cwd);
      assert.equal(failed.code, 1, failed.output);
      await writeFile(file, policy.replace("until:", "untill:"));
      const { code, output } = await check(cwd);
      assert.equal(code, 1, output);
      assert.match(output, /untill/);
    });

    test("fails if there is no suite, unless that is allowed", async (t) => {
      const cwd = await checkout(t);
      assert.equal((await check(cwd, { tests: "policies/" })).code, 1);
      assert.equal((await check(cwd, { tests: "" })).code, 0);
    });

    test("takes several paths, and patterns as the program matches them", async (t) => {
      const cwd = await checkout(t);
      const { code, output } = await check(cwd, { policies: "policies/*.yaml policies/protect-*.yaml" });
      assert.equal(code, 0, output);
    });

    test("simulates against a folder, and fails where the change would release a Cluster", async (t) => {
      const cwd = await checkout(t);
      const starter = starterFiles();
      const policy = starter["policies/protect-production.yaml"] ?? "";
      const suite = parse(starter["tests/protect-production.yaml"] ?? "");
      await writeFile(join(cwd, "main.yaml"), `${policy}---\n${JSON.stringify(suite.spec.clusters[0])}\n`);
      const given = { against: "main.yaml", from: "2026-11-23T00:00:00Z", to: "2026-11-30T00:00:00Z" };
      const same = await check(cwd, given);
      assert.equal(same.code, 0, same.output);
      await writeFile(
        join(cwd, "policies/protect-production.yaml"),
        policy.replace("mode: Enforce", "mode: Audit"),
      );
      assert.equal((await check(cwd, { ...given, tests: "" })).code, 1);
      assert.equal((await check(cwd, { ...given, tests: "", "fail-on": "never" })).code, 0);
    });

    test("simulates the coming week unless it is told a time", async (t) => {
      const cwd = await checkout(t);
      await rename(join(cwd, "bin/hookpolicy"), join(cwd, "bin/real"));
      // Prints what simulate is asked.
      await writeFile(
        join(cwd, "bin/hookpolicy"),
        '#!/bin/sh\n[ $1 = simulate ] && echo "$@" || exec real "$@"\n',
        { mode: 0o755 },
      );
      const { code, output } = await check(cwd, { against: "main.yaml" });
      assert.equal(code, 0, output);
      const [, to = ""] = / --to (\S+Z) .* -f policies\/$/m.exec(output) ?? [];
      const days = Math.round((new Date(to).getTime() - Date.now()) / 86_400_000);
      assert.equal(days, 7, output);
      const from = await check(cwd, { against: "main.yaml", from: "2026-11-23T00:00:00Z" });
      assert.match(from.output, / -f policies\/ --from 2026-11-23T00:00:00Z$/m);
    });

    test("tells validate and simulate Cluster API's version, and what to leave out", async (t) => {
      const cwd = await checkout(t);
      await writeFile(join(cwd, "bin/hookpolicy"), '#!/bin/sh\necho "$@"\n', { mode: 0o755 });
      const given = { against: "main", "capi-version": "1.12", exclude: "charts *.tmpl.yaml" };
      const { output } = await check(cwd, { ...given, tests: "" });
      const told = "--exclude charts --exclude *.tmpl.yaml --capi-version 1.12";
      const commands = output.split("\n").filter((line) => line.endsWith(told));
      assert.deepEqual(
        commands.map((line) => line.split(" ")[0]),
        ["validate", "simulate"],
        output,
      );
    });

    test("fails for a warning by default", async (t) => {
      const cwd = await checkout(t);
      const file = join(cwd, "policies/protect-production.yaml");
      const watch = "    - { name: watch, hooks: [BeforeClusterDelete] }\n";
      await writeFile(file, (await readFile(file, "utf8")) + watch);
      const { code, output } = await check(cwd, { tests: "" });
      assert.equal(code, 1, output);
      assert.match(output, /until-missing/);
      assert.equal((await check(cwd, { tests: "", strict: "false" })).code, 0);
    });
  });
}

describe("the pipelines of init install their package, whatever a runner has kept of an earlier job:", () => {
  interface Run {
    readonly run?: string;
  }
  const starter = starterFiles();
  const { steps } = parse(starter[".github/workflows/hookpolicy.yaml"] ?? "").jobs.check;
  const commands: readonly Run[] = steps;
  const scripts: Readonly<Record<string, readonly string[]>> = {
    github: commands.flatMap(({ run }) => run ?? []),
    gitlab: [parse(starter[".gitlab-ci.yml"] ?? "").hookpolicy.script.join("\n")],
  };
  for (const [name, lines] of Object.entries(scripts))
    test(name, async (t) => {
      const cwd = await checkout(t);
      await rename(join(cwd, "bin/hookpolicy"), join(cwd, "hookpolicy"));
      await writeFile(join(cwd, "bin/hookpolicy"), "#!/bin/sh\necho earlier; exit 9\n", { mode: 0o755 });
      await writeFile(join(cwd, "p.tgz"), "package");
      await writeNpm(cwd);
      const env = { HOOKPOLICY_PACKAGE: "p.tgz", HOOKPOLICY_SHA256: hash("sha256", "package") };
      for (const line of lines) {
        const { code, output } = await shell(cwd, ["bash", "-e"], line, env);
        assert.equal(code, 0, output);
      }
      assert.match(await readFile(join(cwd, "bin/hookpolicy"), "utf8"), /earlier/);
    });
});
