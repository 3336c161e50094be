/**
 * docs/cli.md and docs/gitops.md. A block `console` is run in bash, in a folder of its page, and prints what follows
 * each command ("…" stands for any lines; nothing, for anything); a block with a title is a file of that folder. Other
 * commands need a cluster or files that are not there: that their flags exist is checked.
 */

import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { chmod, mkdir, writeFile } from "node:fs/promises";
import { delimiter, dirname, join } from "node:path";
import test from "node:test";
import { COMPILE_CACHE } from "../bundle.ts";
import { folder, MAIN } from "./cli/program.ts";
import { hookpolicy } from "./cli/resident.ts";

interface Block {
  readonly language: string;
  readonly info: string;
  readonly text: string;
}

function blocksOf(page: string): Block[] {
  const source = readFileSync(join(import.meta.dirname, "../../docs", page), "utf8");
  return [...source.matchAll(/^( *)```(\w+)( [^\n]*)?\n(.*?)^\1```$/gms)].map(
    ([, indent = "", language = "", info = "", text = ""]) => ({
      language,
      info,
      text: text.replaceAll(new RegExp(`^${indent}`, "gm"), ""),
    }),
  );
}

/** The program and a stand-in for kustomize, as commands. */
async function tools(t: test.TestContext): Promise<string> {
  const dir = await folder(t, {
    hookpolicy: `#!/bin/sh\nexec '${process.execPath}' '${MAIN}' "$@"\n`,
    kustomize: "#!/bin/sh\ncat policies/*.yaml\n",
  });
  await Promise.all(["hookpolicy", "kustomize"].map((name) => chmod(join(dir, name), 0o755)));
  return dir;
}

/** Up to what a shell takes for something else. */
const COMMAND = /(?:^|\| |\$ |<\()hookpolicy ([a-z]+)([^|>#)\n]*)/gm;

interface Run {
  readonly code: number;
  readonly output: string;
}

async function bash(command: string, cwd: string, path: string): Promise<Run> {
  const env = {
    ...process.env,
    NODE_COMPILE_CACHE: COMPILE_CACHE,
    PATH: [path, process.env["PATH"]].join(delimiter),
  };
  return await new Promise((done) => {
    execFile("bash", ["-o", "pipefail", "-c", `{ ${command}\n} 2>&1`], { cwd, env }, (error, output) => {
      done({ code: error === null ? 0 : Number(error.code), output });
    });
  });
}

function matches(output: string, expected: string): void {
  if (expected === "") return;
  const pattern = expected
    .split("…\n")
    .map((part) => part.replaceAll(/[$()*+.?[\\\]^{|}]/g, String.raw`\$&`))
    .join("(?:.*\n)*");
  if (!new RegExp(`^${pattern}$`).test(output)) assert.equal(output, expected);
}

async function runBlock({ info, text }: Block, cwd: string, path: string): Promise<number> {
  const wanted = Number(/exit=(\d)/.exec(info)?.[1] ?? 0);
  const commands = text.split(/^\$ /m).slice(1);
  for (const [index, each] of commands.entries()) {
    const [command = "", ...lines] = each.split("\n");
    const { code, output } = await bash(command, cwd, path);
    assert.equal(code, index === commands.length - 1 ? wanted : 0, `${command}\n${output}`);
    matches(output, lines.join("\n"));
  }
  return commands.length;
}

test("the table of cli.md names each command of the program, and no other", async () => {
  const { stdout } = await hookpolicy(["help"]);
  const [, list = ""] = /\n\nClusters that wait:\n(.*?)\n\nExamples:/s.exec(stdout) ?? [];
  const commands = [...list.matchAll(/^ {2}([a-z-]+)/gm)].map(([, name]) => name);
  const page = readFileSync(join(import.meta.dirname, "../../docs/cli.md"), "utf8");
  const named = [...page.matchAll(/^\| \[?`hookpolicy ([a-z-]+)`/gm)].map(([, name]) => name);
  assert.deepEqual(new Set([...named, "help"]), new Set(commands)); // the page refers to help
});

for (const [page, least] of [
  ["cli.md", 5],
  ["gitops.md", 4],
] as const) {
  test(`the commands of ${page} do what it says`, async (t) => {
    const cwd = await folder(t, {});
    const path = await tools(t);
    let run = 0;
    for (const block of blocksOf(page)) {
      const [, title] = /title="(.+)"/.exec(block.info) ?? [];
      if (title !== undefined) {
        await mkdir(dirname(join(cwd, title)), { recursive: true });
        await writeFile(join(cwd, title), block.text);
      }
      if (block.language === "console" && !block.info.includes("live"))
        run += await runBlock(block, cwd, path);
    }
    assert.ok(run >= least, `${run} commands were found`);
  });

  test(`every command and flag that ${page} names exists`, async () => {
    const text = blocksOf(page)
      .filter(({ language }) => language === "sh" || language === "console")
      .map((block) => block.text)
      .join("\n");
    const helps = new Map<string, string>();
    for (const [line, command = "", rest = ""] of text.matchAll(COMMAND)) {
      if (!helps.has(command)) {
        const { code, stdout } = await hookpolicy(["help", command]);
        assert.equal(code, 0, line);
        helps.set(command, stdout);
      }
      for (const [, flag = ""] of rest.matchAll(/ (--?[a-z][-a-z]*)/g)) {
        assert.match(helps.get(command) ?? "", new RegExp(`[ ,]${flag}[ ,\n]`), line);
      }
    }
    assert.ok(helps.size >= 2);
  });
}
