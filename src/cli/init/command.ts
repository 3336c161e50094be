/** `hookpolicy init`: creates a folder to start with. */

import { mkdir, writeFile } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import type { Command } from "commander";
import { codeOf } from "../../lib/thrown.ts";
import { addExamples, CommandError, FAILED } from "../command.ts";
import { UsageError } from "../../operator/options.ts";
import { stderr, stdout } from "../terminal/output.ts";

const EXAMPLES = `\
  # In a new folder, then what its pipelines do
  hookpolicy init cluster-policies
  cd cluster-policies
  hookpolicy validate policies/
  hookpolicy test tests/`;

export function addInit(program: Command): void {
  const command = program
    .command("init")
    .argument("[dir]", "the folder", ".")
    .summary("a folder to start with: policy, suite, pipelines")
    .description(
      "Writes a policy, a test suite for it, pipelines for GitHub and GitLab, an entry for pre-commit and the schema that editors read. Files that are there already are left as they are.\n\nExit code: 0 done, 1 a file that cannot be written, 2 wrong usage.",
    );
  addExamples(command, EXAMPLES);
  command.action(init);
}

async function init(dir: string): Promise<void> {
  if (dir === "") throw new UsageError("the path is empty");
  const { NPM_PACKAGE, SCHEMA_FILE, starterFiles } = await import("./starter.ts");
  const { editorSchema } = await import("./editor-schema.ts");
  for (const [name, content] of Object.entries({ ...starterFiles(), [SCHEMA_FILE]: editorSchema() })) {
    const path = join(dir, name);
    try {
      await makeFolder(resolve(dirname(path)));
      await writeFile(path, content, { flag: "wx" });
      stdout.line(`wrote ${path}`);
    } catch (error) {
      const code = codeOf(error);
      if (code === "") throw error;
      if (code !== "EEXIST") throw new CommandError(FAILED, `cannot write ${path}: ${REASONS[code] ?? code}`);
      stderr.line(`${path} exists: left as it is`);
    }
  }
  stdout.line("");
  stdout.line(
    `HookPolicy is on no public registry. Put ${NPM_PACKAGE} of a release where your pipelines reach it, and set their`,
  );
  stdout.line("variables HOOKPOLICY_PACKAGE, to its URL, and HOOKPOLICY_SHA256, to its line in SHA256SUMS.");
}

const REASONS: Readonly<Record<string, string>> = {
  EACCES: "you may not write there; name another folder (EACCES)",
  EPERM: "you may not write there; name another folder (EPERM)",
  ENOENT: "its folder cannot be made; name another folder (ENOENT)",
  EROFS: "the file system is read-only; name another folder (EROFS)",
  ENOTDIR: "a part of the path is a file; name another folder (ENOTDIR)",
  EISDIR: "it is a folder; move it away (EISDIR)",
  ENOSPC: "the disk is full (ENOSPC)",
};

/** Node's own recursive mkdir never ends on a file system without room for folders, such as /proc. */
async function makeFolder(path: string, parentIsMade = false): Promise<void> {
  try {
    await mkdir(path);
  } catch (error) {
    const code = codeOf(error);
    if (code === "EEXIST") return;
    if (code !== "ENOENT" || parentIsMade) throw error;
    await makeFolder(dirname(path));
    await makeFolder(path, true);
  }
}
