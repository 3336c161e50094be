import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import test from "node:test";
import { symlink } from "node:fs/promises";
import { join } from "node:path";
import { folder, MAIN } from "../program.ts";
import { answering, list, listing, SERVES_CLUSTERS } from "../api-server.ts";
import { hookpolicy } from "../resident.ts";

const { stdout: BASH } = await hookpolicy(["completion", "bash"]);

/** Where bash splits a line into words since version 4. */
const AT_SIGNS = / |(?=[=:@])|(?<=[=:@])/;

/** What bash offers at the end of this line. */
function completed(line: string, { cwd, split = AT_SIGNS }: { cwd?: string; split?: RegExp } = {}): string[] {
  const words = line.split(split).map((word) => `'${word}'`);
  const script = `${BASH}
hookpolicy() { '${process.execPath}' '${MAIN}' "$@"; }
COMP_LINE='${line}'; COMP_WORDS=(${words.join(" ")}); COMP_CWORD=${words.length - 1}
_hookpolicy; printf '%s\n' "\${COMPREPLY[@]}"`;
  const output = execFileSync("bash", ["-c", script], { cwd, encoding: "utf8" });
  return output.split("\n").filter((each) => each !== "");
}

test("the script registers itself for the program and for kubectl's plugin", () => {
  const output = execFileSync("bash", ["-c", `${BASH}\ncomplete -p hookpolicy kubectl-hookpolicy`], {
    encoding: "utf8",
  });
  assert.equal(output, "complete -F _hookpolicy hookpolicy\ncomplete -F _hookpolicy kubectl-hookpolicy\n");
});

const CASES: Record<string, string[]> = {
  "hookpolicy --no-color windows --z": ["--zone"],
  "hookpolicy simulate --output=json --hook=BeforeClusterD": ["BeforeClusterDelete"],
  "hookpolicy validate --output=": ["text", "json", "github", "sarif"],
  "~/bin/hookpolicy explain --context admin@arn:aws:eks --kube": ["--kubeconfig"],
};
for (const [line, offers] of Object.entries(CASES))
  test(`bash completes ${line}`, () => assert.deepEqual(completed(line), offers));

test("bash 3, which splits words at spaces alone, completes a value behind =", () => {
  assert.deepEqual(completed("hookpolicy validate --output=j", { split: / / }), ["json"]);
});

/** What kubectl is told behind these words, the last of which is being typed. */
async function answered(...words: readonly string[]): Promise<string[]> {
  const { code, stdout, stderr } = await hookpolicy(["__complete", ...words], {
    env: { KUBECONFIG: "none" },
  });
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  return stdout.split("\n").slice(0, -1);
}

test("--against completes live and folders", async () => {
  assert.deepEqual(await answered("simulate", "--against", "l"), ["live\tthe API server's", ":0"]);
  assert.deepEqual(await answered("simulate", "--against=l"), ["--against=live\tthe API server's", ":0"]);
  assert.deepEqual(await answered("simulate", "--against", "fleet/"), [":0"]);
  const offered = completed("hookpolicy simulate --against ");
  assert.ok(offered.includes("live") && offered.includes("src"), offered.join(" "));
});

test("kubectl is told commands, flags and values in the way of cobra, each with what it is", async () => {
  assert.deepEqual(await answered("expl"), [
    "explain\texplain why a Cluster is held and how to release it",
    ":4",
  ]);
  assert.deepEqual(await answered("explain", "--kube"), [
    "--kubeconfig\thow to reach the API server; default: as kubectl",
    ":4",
  ]);
  assert.deepEqual(await answered("explain", "--hook", "BeforeClusterD"), ["BeforeClusterDelete", ":4"]);
  assert.deepEqual(await answered("simulate", "--hook=AfterW"), ["--hook=AfterWorkersUpgrade", ":4"]);
  assert.deepEqual(await answered("validate", "-o", ""), ["text", "json", "github", "sarif", ":4"]);
  assert.deepEqual(await answered("--no-color", "help", "wind"), ["windows", ":4"]);
  assert.deepEqual(await answered("validate", "--st"), ["--strict\texit 1 for warnings, too", ":4"]);
  assert.deepEqual(await answered("completion", "f"), ["fish", ":4"]);
});

test("files are left to the shell, and nothing is offered for what cannot be guessed", async () => {
  assert.deepEqual(await answered("validate", ""), [":0"]);
  assert.deepEqual(await answered("validate", "--schema", ""), [":0"]);
  assert.deepEqual(await answered("explain", "-f", ""), [":0"]);
  assert.deepEqual(await answered("validate", "--strict", ""), [":0"]);
  assert.deepEqual(await answered("explain", "--at", ""), [":4"]);
  assert.deepEqual(
    (await answered("")).filter((line) => line.startsWith("-")),
    [],
  );
});

test("without an API server no name is offered, and no error is printed", async () => {
  assert.deepEqual(await answered("explain", "team-a/"), [":4"]);
  assert.deepEqual(await answered("explain", "--kubeconfig", "gone", ""), [":4"]);
  assert.deepEqual(await answered("rollout", "pause", "p"), [":4"]);
  assert.deepEqual(await answered("rollout", "p"), ["plan", "pause", ":4"]);
  assert.deepEqual(await answered("rollout", "status", "p"), [":4"]);
  assert.deepEqual(await answered("task", "re"), ["retry", ":4"]);
  assert.deepEqual(await answered("task", "retry", "p"), [":4"]);
  assert.deepEqual(await answered("task", "list", "--for-cluster", "p"), [":4"]);
});

test("names are short where -n says their namespace, and windows takes rollouts, too", async (t) => {
  const named = (name: string): object => ({ metadata: { namespace: "team-a", name } });
  const { kubeconfig } = await answering(t, {
    ...SERVES_CLUSTERS,
    "GET /apis/cluster.x-k8s.io/v1beta2/clusters": list(named("prod-1")),
    "GET /apis/cluster.x-k8s.io/v1beta2/namespaces/team-a/clusters": list(named("prod-1")),
    ...listing({
      "namespaces/team-a/hooktasks": [named("prune-1")],
      "namespaces/team-a/hookpolicies": [named("protect")],
      clusterhookpolicies: [],
      hookrollouts: [{ metadata: { name: "production" } }],
    }),
  });
  for (const [line, ...names] of [
    ["explain -n team-a pr", "prod-1"],
    ["explain -n team-a team-a/", "team-a/prod-1"],
    ["task show -n team-a ", "prune-1"],
    ["task list -n elsewhere --for-cluster ", "team-a/prod-1"],
    ["windows -n team-a pr", "protect", "production"],
  ] as const) {
    const [command = "", ...words] = line.split(" ");
    assert.deepEqual(await answered(command, "--kubeconfig", kubeconfig, ...words), [...names, ":4"], line);
  }
});

test("as the program that kubectl runs for completion, it answers the same", async (t) => {
  const dir = await folder(t, {});
  const program = join(dir, "kubectl_complete-hookpolicy");
  await symlink(MAIN, program);
  const output = execFileSync(process.execPath, [program, "wind"], {
    encoding: "utf8",
  });
  assert.match(output, /^windows\t.*\n:4\n$/);
});

test("bash completes files, with spaces in their names, where files are meant", async (t) => {
  const cwd = await folder(t, { "my policy.yaml": "", "other.yaml": "" });
  assert.deepEqual(completed("hookpolicy validate my", { cwd }), ["my policy.yaml"]);
  assert.deepEqual(completed("hookpolicy windows -f o", { cwd }), ["other.yaml"]);
  assert.deepEqual(completed("hookpolicy windows --filename=o", { cwd }), ["other.yaml"]);
});

const missing = (shell: string): string | false =>
  spawnSync(shell, ["-c", "true"]).error !== undefined && `${shell} is not installed`;

test("zsh reads its script", { skip: missing("zsh") }, async () => {
  const { stdout } = await hookpolicy(["completion", "zsh"]);
  const { status, stderr } = spawnSync("zsh", ["-n"], { input: stdout, encoding: "utf8" });
  assert.deepEqual({ status, stderr }, { status: 0, stderr: "" });
});

test(
  "fish completes flags with what they are, values behind =, and files",
  { skip: missing("fish") },
  async (t) => {
    const { stdout } = await hookpolicy(["completion", "fish"]);
    const cwd = await folder(t, { "my policy.yaml": "" });
    const lines = (typed: string): string[] => {
      const script = `${stdout}\nfunction hookpolicy; '${process.execPath}' '${MAIN}' $argv; end\ncomplete -C '${typed}'`;
      const output = execFileSync("fish", ["-N", "-c", script], { cwd, encoding: "utf8" });
      return output.split("\n").slice(0, -1);
    };
    assert.deepEqual(lines("hookpolicy val"), ["validate\tcheck policy files"]);
    assert.deepEqual(lines("hookpolicy simulate --hook=AfterW"), ["--hook=AfterWorkersUpgrade"]);
    assert.deepEqual(lines("hookpolicy validate my"), ["my policy.yaml"]);
    assert.deepEqual(lines("hookpolicy windows --filename=m"), ["--filename=my policy.yaml"]);
  },
);

test("an unknown shell is one line and exits 2", async () => {
  const { code, stderr } = await hookpolicy(["completion", "tcsh"]);
  assert.equal(code, 2);
  assert.match(
    stderr,
    /^error: .*tcsh.* Allowed choices are bash, zsh, fish; see 'hookpolicy completion --help'\n$/,
  );
});
