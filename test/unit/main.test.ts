import assert from "node:assert/strict";
import { spawn, spawnSync, type ChildProcess } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { delimiter, dirname, join, resolve } from "node:path";
import { afterEach, test } from "node:test";
import { COMPILE_CACHE } from "../bundle.ts";
import { hookpolicy, MAIN } from "./cli/program.ts";
import { onTerminal } from "./cli/terminal/pseudo-terminal.ts";

const ROOT = resolve(import.meta.dirname, "../..");
const SOURCE = join(ROOT, "src/main.ts");

const children = new Set<ChildProcess>();

function start(command: readonly string[], env: Readonly<Record<string, string>> = {}): ChildProcess {
  const [file = "", ...args] = command;
  const child = spawn(file, args, {
    cwd: ROOT,
    env: { ...process.env, NODE_COMPILE_CACHE: COMPILE_CACHE, ...env },
    stdio: ["ignore", "pipe", "pipe"],
  });
  children.add(child);
  return child;
}

/** A test that fails leaves no operator behind. */
afterEach(() => {
  for (const child of children) child.kill("SIGKILL");
  children.clear();
});

async function outcome(child: ChildProcess) {
  let stdout = "";
  let stderr = "";
  child.stdout?.on("data", (chunk: Buffer) => (stdout += chunk.toString()));
  child.stderr?.on("data", (chunk: Buffer) => (stderr += chunk.toString()));
  const [code]: unknown[] = await once(child, "close");
  return { code: typeof code === "number" ? code : null, stdout, stderr };
}

/** `hookpolicy run` with `body` in the place of the manager: `async (options, { log, signal }) => { body }`. */
function runWith(body: string, ...flags: string[]): ChildProcess {
  const operator = `export async function runOperator(options, { log, signal }) { ${body} }`;
  const asUrl = (code: string): string => `data:text/javascript,${encodeURIComponent(code)}`;
  const hooks = `import { registerHooks } from "node:module";
    registerHooks({
      resolve: (specifier, context, next) =>
        specifier.endsWith("/operator/operator.ts")
          ? { url: ${JSON.stringify(asUrl(operator))}, shortCircuit: true }
          : next(specifier, context),
    });`;
  return start([process.execPath, "--import", asUrl(hooks), SOURCE, "run", ...flags]);
}

const UNTIL_ABORT = `
  const alive = setInterval(() => undefined, 1000);
  log.info("Ready");
  await new Promise((resolve) => signal.addEventListener("abort", resolve));`;

async function ready(child: ChildProcess): Promise<void> {
  await new Promise<void>((resolveReady) => {
    child.stdout?.on("data", (chunk: Buffer) => {
      if (chunk.toString().includes("Ready")) resolveReady();
    });
  });
}

/** By what is typed. */
const USAGE: Record<string, string> = {
  "run --foo": "error: unknown option '--foo'; see 'hookpolicy run --help'",
  "run --webhook-prt=1":
    "error: unknown option '--webhook-prt=1' (did you mean --webhook-port?); see 'hookpolicy run --help'",
  rnu: "error: unknown command 'rnu' (did you mean run?); see 'hookpolicy --help'",
  "help nope": "error: unknown command 'nope'; see 'hookpolicy --help'",
  "help rollot": "error: unknown command 'rollot' (did you mean rollout?); see 'hookpolicy --help'",
  "help rollout paln":
    "error: unknown action 'paln' of rollout (did you mean plan?); see 'hookpolicy --help'",
  "run extra":
    "error: too many arguments for 'run'. Expected 0 arguments but got 1: extra; see 'hookpolicy run --help'",
  "run --webhook-port": "error: option '--webhook-port <port>' argument missing; see 'hookpolicy run --help'",
  "run --log-level=loud": `error: --log-level is "loud"; allowed: debug, info, warn, error; see 'hookpolicy run --help'`,
  "run --a\nb": "error: unknown option '--a\\nb'; see 'hookpolicy run --help'",
};
for (const [typed, line] of Object.entries(USAGE)) {
  test(`hookpolicy ${typed}: one line on stderr and exit 2`, async () => {
    assert.deepEqual(await hookpolicy(typed.split(" ")), { code: 2, stdout: "", stderr: `${line}\n` });
  });
}

test("without arguments: the help on stderr and exit 2", async () => {
  const { code, stdout, stderr } = await hookpolicy([]);
  assert.equal(code, 2);
  assert.equal(stdout, "");
  assert.match(stderr, /^Usage: hookpolicy /);
});

test("--help, help and help run explain every flag, with its default, and exit 0", async () => {
  const top = await hookpolicy(["--help"]);
  assert.match(top.stdout, /run the operator[^]*Examples:/);
  const commands = [...top.stdout.matchAll(/^ {2}([a-z][a-z-]*)(?: \[| <|  )/gm)].map(([, name]) => name);
  assert.deepEqual(commands.slice(0, 3), ["explain", "get", "approve"]);
  assert.deepEqual(await hookpolicy(["help"]), top);
  const run = await hookpolicy(["run", "--help"]);
  assert.deepEqual(await hookpolicy(["help", "run"]), run);
  assert.deepEqual({ code: run.code, stderr: run.stderr }, { code: 0, stderr: "" });
  for (const text of ["Hook server:", "--capi-version <version>", "(default: :9440)", "Examples:"]) {
    assert.ok(run.stdout.includes(text), text);
  }
});

test("the help of an action leaves out what belongs to others", async () => {
  const { code, stdout } = await hookpolicy(["rollout", "plan", "--help"]);
  assert.equal(code, 0);
  for (const text of ["--duration", "--output", "--kubeconfig", "rollout plan upgrades --duration"])
    assert.ok(stdout.includes(text), text);
  for (const text of ["--reason", "--yes", "--watch", "rollout resume"])
    assert.ok(!stdout.includes(text), text);
  assert.equal((await hookpolicy(["help", "rollout", "plan"])).stdout, stdout);
});

test("on a narrow terminal, the help wraps what it says about options", async () => {
  const command = ["-c", 'stty cols 60; exec "$@"', "sh", process.execPath, MAIN, "rollout", "--help"];
  const { seen } = await onTerminal(command, () => "", { program: "sh" });
  const [help = "", examples] = seen.split("Examples:");
  assert.ok(examples !== undefined && help.includes("--filename <path>"), seen);
  assert.deepEqual(
    help.split("\r\n").filter((line) => line.length > 60),
    [],
  );
});

test("the help of every command says what its exit codes mean", async () => {
  const { stdout: top } = await hookpolicy(["help"]);
  const names = [...top.matchAll(/^ {2}([a-z][a-z-]*)(?: \[| <|  )/gm)].map(([, name = ""]) => name);
  assert.ok(names.includes("run") && names.includes("completion"), names.join());
  for (const name of names.filter((each) => each !== "help"))
    assert.match((await hookpolicy(["help", name])).stdout, /^Exit code: 0 /m, name);
});

test("--version from source and from the bundle is that of package.json, and the bundle can be executed", async () => {
  const { version }: { version: string } = JSON.parse(await readFile(join(ROOT, "package.json"), "utf8"));
  const expected = { code: 0, stdout: `${version}\n`, stderr: "" };
  assert.deepEqual(await outcome(start([process.execPath, SOURCE, "--version"])), expected);
  assert.match(await readFile(MAIN, "utf8"), /^#!\/usr\/bin\/env node\n/);
  const path = [dirname(process.execPath), process.env["PATH"]].join(delimiter);
  assert.deepEqual(await outcome(start([MAIN, "--version"], { PATH: path })), expected);
});

test("an older Node.js is told which one is needed, and goes no further", async () => {
  const older = `Object.defineProperty(process, "versions", { value: { ...process.versions, node: "22.18.0" } })`;
  const child = start([process.execPath, "--import", `data:text/javascript,${older}`, MAIN, "--version"]);
  const { code, stdout, stderr } = await outcome(child);
  assert.deepEqual({ code, stdout }, { code: 1, stdout: "" });
  assert.match(stderr, /^error: hookpolicy needs Node\.js 22\.19 or newer; this is v\S+ \(\S+\)\n$/);
});

/** The Node.js of the machine, where it is an older one: it has to get as far as to say so. */
const old = (process.env["PATH"] ?? "")
  .split(delimiter)
  .map((folder) => join(folder, "node"))
  .find(
    (file) => existsSync(file) && /^v(?:1\d|2[01])\./.test(spawnSync(file, ["--version"]).stdout.toString()),
  );

test(
  "the older Node.js of this machine says it",
  { skip: old === undefined && "there is none" },
  async () => {
    const { code, stderr } = await outcome(start([old ?? "", MAIN, "--version"]));
    assert.equal(code, 1);
    assert.match(stderr, /^error: hookpolicy needs Node\.js 22\.19 or newer; this is v\S+ \(\S+\)\n$/);
  },
);

test("help into a closed pipe ends quietly", async () => {
  const child = start([process.execPath, MAIN, "--help"]);
  child.stdout?.destroy();
  const { code, stderr } = await outcome(child);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
});

test("an error at start is one log line without a stack, and exit 1", async () => {
  const body = `throw new Error("cannot listen on :9443 (--webhook-port)", { cause: new Error("in use") });`;
  const text = await outcome(runWith(body));
  assert.equal(text.code, 1);
  assert.match(
    text.stdout,
    /^\S+Z ERROR Cannot run error="cannot listen on :9443 \(--webhook-port\): in use"\n$/,
  );
  const json = await outcome(runWith(body, "--log-format=json"));
  const { level, msg, error }: Record<string, unknown> = JSON.parse(json.stdout);
  assert.deepEqual(
    [level, msg, error],
    ["error", "Cannot run", "cannot listen on :9443 (--webhook-port): in use"],
  );
});

for (const signal of ["SIGTERM", "SIGINT"] as const) {
  test(`${signal} drains and exits 0`, async () => {
    const child = runWith(`${UNTIL_ABORT} log.info("Drained");`);
    const ended = outcome(child);
    await ready(child);
    child.kill(signal);
    const { code, stdout } = await ended;
    assert.equal(code, 0);
    assert.match(stdout, new RegExp(`Stopping signal=${signal}\\n.*Drained\\n.*Stopped\\n$`));
  });
}

test("the second signal ends a drain that hangs", async () => {
  const child = runWith(`${UNTIL_ABORT} await new Promise(() => undefined);`);
  const ended = outcome(child);
  await ready(child);
  child.stdout?.on("data", (chunk: Buffer) => {
    if (chunk.toString().includes("Stopping")) child.kill("SIGTERM");
  });
  child.kill("SIGTERM");
  assert.equal((await ended).code, 1);
});

const BUGS = {
  uncaughtException: `setImmediate(() => { throw new Error("a bug"); });`,
  unhandledRejection: `void Promise.reject(new Error("a bug"));`,
};
for (const [origin, bug] of Object.entries(BUGS)) {
  test(`an ${origin} is one log line with its stack, and exit 1`, async () => {
    const { code, stdout, stderr } = await outcome(runWith(`${bug} await new Promise(() => undefined);`));
    assert.equal(code, 1);
    assert.equal(stderr, "");
    assert.match(stdout, new RegExp(`^\\S+ ERROR Bug, exiting error="a bug" origin=${origin} stack=".*\\n$`));
  });
}

test("the operator keeps running when the reader of its log is gone", async () => {
  const child = runWith(`${UNTIL_ABORT} for (let n = 0; n < 100; n++) log.info("Line");`);
  await ready(child);
  child.stdout?.destroy();
  child.kill("SIGTERM");
  const { code, stderr } = await outcome(child);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
});

test("output that cannot be written is a failure, told in one line", async () => {
  for (const args of ["--help", "validate test/demo", "completion bash"]) {
    const child = start(["sh", "-c", `exec ${process.execPath} ${MAIN} ${args} > /dev/full`]);
    const { code, stderr } = await outcome(child);
    assert.deepEqual(
      { code, stderr },
      { code: 1, stderr: "error: the output cannot be written (ENOSPC)\n" },
      args,
    );
  }
});
