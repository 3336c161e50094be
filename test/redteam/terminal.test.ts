/**
 * A name, a key or a value in a file, in the cluster or among the arguments steers the reader's terminal: it erases what
 * was printed, forges a line, hides or reverses a part of a name. Tried with every command and every format that the
 * program itself lists, so that a new one is tried, too.
 */

import assert from "node:assert/strict";
import { globSync, readFileSync } from "node:fs";
import { join, resolve } from "node:path";
import test, { describe } from "node:test";
import { FLAGS, parseOptions } from "../../src/operator/options.ts";
import { folder, hookpolicy as start, MAIN, type Outcome } from "../unit/cli/program.ts";
import { hookpolicy } from "../unit/cli/resident.ts";
import { onTerminal } from "../unit/cli/terminal/pseudo-terminal.ts";
import { ALLOWED, FILES, harm, HOSTILE, hostileCluster } from "./hostile.ts";

const NO_CLUSTER = { env: { KUBECONFIG: "none" } };

/** What the program itself offers behind these words. */
async function offered(...words: readonly string[]): Promise<string[]> {
  const { stdout } = await hookpolicy(["__complete", ...words], NO_CLUSTER);
  const lines = stdout.split("\n").slice(0, -2);
  return lines.map((line) => line.split("\t")[0] ?? "");
}

function assertHarmless({ stdout, stderr }: Outcome, words: readonly string[]): void {
  const found = { stdout: harm(stdout), stderr: harm(stderr) };
  assert.deepEqual(found, { stdout: undefined, stderr: undefined }, words.join(" "));
}

const AT = ["--at", "2026-11-21T12:00:00Z"];
const WISH = ["--hook", "BeforeClusterDelete", "--reason", ALLOWED, "--for", "1h", "--policy", "protect"];

interface Calls {
  readonly files?: readonly (readonly string[])[];
  readonly cluster?: readonly (readonly string[])[];
}

/** What a command is called with, so that it prints what it has read: from files, or from an API server. */
const CALLS: Readonly<Record<string, Calls>> = {
  run: {},
  help: {},
  completion: {},
  doctor: { cluster: [[]] },
  "prepare-uninstall": { cluster: [["--dry-run"], ["--yes"]] },
  validate: { files: [["policies"], [HOSTILE]] },
  test: {
    files: [
      ["tests", "policies"],
      ["--coverage", "tests"],
      ["--mutate", "tests"],
      ["--record", HOSTILE, "policies"],
      ["-o", "junit", "tests"],
      [HOSTILE],
    ],
  },
  get: { cluster: [["-A"], ["-A", "--by", "policy"], ["-A", "--by", "cluster"], ["-n", HOSTILE]] },
  explain: {
    files: [
      ["team-a/prod-1", "-f", "fleet"],
      ["team-a/prod-1", "-f", "refused"],
      ["team-a/prod-1", "-f", "policies"],
    ],
    cluster: [["team-a/prod-1"]],
  },
  approve: {
    cluster: [
      ["team-a/prod-1", "--dry-run"],
      ["team-a/prod-1", "--yes"],
    ],
  },
  override: {
    cluster: [
      ["team-a/prod-1", ...WISH, "--dry-run"],
      ["team-a/prod-1", ...WISH, "--yes"],
    ],
  },
  rollout: {
    cluster: [
      ["status"],
      ["plan", "upgrades", "--duration", "40m"],
      ["pause", HOSTILE, "--reason", ALLOWED],
      ["resume", "upgrades", "--yes"],
    ],
  },
  task: {
    cluster: [
      ["list", "-A"],
      ["show", "team-a/backup"],
      ["retry", "team-a/backup"],
      ["show", HOSTILE],
    ],
  },
  simulate: {
    files: [
      ["--against", "fleet", "-f", "new", ...AT],
      ["--against", "fleet", "-f", "policies"],
    ],
    cluster: [["-f", "new", ...AT]],
  },
  windows: {
    files: [
      ["-f", "policies"],
      ["-f", "fleet"],
    ],
    cluster: [["-A"]],
  },
  // What it reads is shown in the browser.
  ui: {},
  init: { files: [[HOSTILE]] },
};

test("every command that there is, is tried", async () => {
  const commands = (await offered("")).filter((word) => !word.startsWith("-"));
  assert.deepEqual(commands.toSorted(), Object.keys(CALLS).toSorted());
});

/** In every format, and what is hostile is not passed over. */
async function assertShown(args: readonly string[], at: { cwd: string; env?: Record<string, string> }) {
  const [command = ""] = args;
  const formats = await offered(command, "-o", "");
  let seen = "";
  for (const format of formats.length === 0 ? [[]] : formats.map((name) => ["-o", name])) {
    const words = [...args, ...format];
    const outcome = await hookpolicy(words, at);
    assertHarmless(outcome, words);
    if (format.includes("json") && outcome.stdout !== "") JSON.parse(outcome.stdout);
    seen += outcome.stdout + outcome.stderr;
  }
  assert.match(seen, /\\u(?:001b|202e)/, args.join(" "));
}

for (const [command, { files = [], cluster = [] }] of Object.entries(CALLS)) {
  describe(command, () => {
    test("repeats no argument that it does not take as it is", async (t) => {
      const at = { ...NO_CLUSTER, cwd: await folder(t, {}) };
      const flags = (await offered(command, "--")).filter((flag) => flag.startsWith("--"));
      const given = flags.filter((flag) => command !== "run" || isRefused(flag));
      for (const args of [[HOSTILE], [`--${HOSTILE}`], ...given.map((flag) => [`${flag}=${HOSTILE}`])]) {
        const words = [command, ...args];
        assertHarmless(await hookpolicy(words, at), words);
      }
    });
    for (const [index, args] of files.entries()) {
      test(`prints nothing of files as it is (${index})`, async (t) => {
        await assertShown([command, ...args], { cwd: await folder(t, FILES) });
      });
    }
    for (const [index, args] of cluster.entries()) {
      test(`prints nothing of a cluster, nor of its refusals, as it is (${index})`, async (t) => {
        const { env, refuse } = await hostileCluster(t);
        const at = { cwd: await folder(t, FILES), env };
        await assertShown([command, ...args], at);
        refuse();
        await assertShown([command, ...args], at);
      });
    }
  });
}

/** Others are values that the operator starts with. */
function isRefused(flag: string): boolean {
  const name = flag.slice(2);
  if (!(name in FLAGS)) return true;
  try {
    parseOptions({ [name]: HOSTILE });
    return false;
  } catch {
    return true;
  }
}

test("the operator logs nothing as it is that it was started with", async () => {
  const values = Object.keys(FLAGS).filter((name) => !isRefused(`--${name}`));
  const words = ["run", "--capi-version=1.14", ...values.map((name) => `--${name}=${HOSTILE}`)];
  for (const format of ["text", "json"]) {
    const outcome = await start([...words, `--log-format=${format}`], NO_CLUSTER);
    assertHarmless(outcome, words);
    assert.match(outcome.stdout + outcome.stderr, /\\u001b/);
  }
});

test("a name that cannot be typed is not offered to a shell", async (t) => {
  const { env } = await hostileCluster(t);
  const { stdout } = await hookpolicy(["__complete", "explain", ""], { env });
  assert.equal(stdout, "team-a/prod-1\n:4\n");
});

test("on a terminal, only colours of the program's own get through", async (t) => {
  const cwd = await folder(t, FILES);
  const { env } = await hostileCluster(t);
  const codes =
    // oxlint-disable-next-line no-control-regex -- colours, progress, and what Node puts before a question
    /\u001B\[(?:0|1|2|31|32|33|36)m|\u001B\[1G\u001B\[0J(?=Approve this)|\r\u001B\[K(?:(?:checked|read) \d+ [a-z0-9 ]+\r\u001B\[K)+/g;
  const words: readonly (readonly string[])[] = [
    ["validate", join(cwd, "policies")],
    ["explain", "team-a/prod-1", "-f", join(cwd, "fleet")],
    ["approve", "team-a/prod-1", "--kubeconfig", env.KUBECONFIG],
  ];
  for (const args of words) {
    const { seen } = await onTerminal([MAIN, ...args], () => "n\n");
    assert.ok(seen.search(codes) >= 0, "it is coloured");
    assert.match(seen, /\\u001b\[35mx/);
    const text = seen.replaceAll("\r\n", "\n").replaceAll(codes, "");
    // Behind the question, Node echoes what is typed.
    assert.equal(harm(text.split("[y/N]")[0] ?? ""), undefined, args.join(" "));
  }
});

const SRC = resolve(import.meta.dirname, "../../src");
/** The audit log, the question before a change, the one of commands, and the log. */
const EXITS = [
  "cli/terminal/confirm.ts",
  "cli/terminal/output.ts",
  "report/audit-log.ts",
  "report/process-log.ts",
];

test("text leaves the program by these exits, and by no other", () => {
  const looks =
    /(?:colourFor|terminalOf|survivePipeErrors|failOnLostOutput)\(process\.std\w+|\{ stream: process\.stderr \}/g;
  const writes = /\bconsole\.|\bprocess\[|\bprocess\.std(?:out|err)\b(?!\.(?:isTTY|columns|on)\b)/;
  const found = globSync("**/*.ts", { cwd: SRC }).filter((file) =>
    writes.test(readFileSync(join(SRC, file), "utf8").replaceAll(looks, "")),
  );
  assert.deepEqual(found.toSorted(), EXITS);
});
