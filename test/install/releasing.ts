/** `make release` in copies of the working tree. */

import { execFileSync } from "node:child_process";
import { cpSync, mkdirSync, statSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { bundle } from "../bundle.ts";
import { ROOT } from "./tools.ts";

const BUILD = join(ROOT, "release/executable/build.ts");
const EXECUTABLE = join(ROOT, `dist/executables/hookpolicy-${process.platform}-${process.arch}`);

type Env = Readonly<Record<string, string>>;

export function git(cwd: string, ...args: readonly string[]): string {
  const at = "2026-01-01T00:00:00Z";
  const who = { GIT_AUTHOR_NAME: "a", GIT_AUTHOR_EMAIL: "a@example.com", GIT_AUTHOR_DATE: at };
  const by = { GIT_COMMITTER_NAME: "a", GIT_COMMITTER_EMAIL: "a@example.com", GIT_COMMITTER_DATE: at };
  return execFileSync("git", args, { cwd, encoding: "utf8", env: { ...process.env, ...who, ...by } });
}

export function runScript(cwd: string, script: string, env: Env): void {
  execFileSync(process.execPath, [script], { cwd, stdio: "pipe", env: { ...process.env, ...env } });
}

/** The single executable for this machine, built again if the program is newer. */
export function executable(): string {
  const modified = (path: string): number => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;
  const newest = Math.max(...[bundle(), BUILD, join(BUILD, "../start.ts")].map(modified));
  if (modified(EXECUTABLE) < newest) buildExecutable(EXECUTABLE);
  return EXECUTABLE;
}

export function buildExecutable(file: string): void {
  execFileSync(process.execPath, [BUILD, file], { cwd: ROOT, stdio: "pipe" });
}

/** A commit of the working tree in that new folder, and where what is released from it is. */
export function releaseWorkingTree(folder: string, env: Env): string {
  mkdirSync(folder, { recursive: true });
  const paths = ["--", ".", ":!node_modules"]; // in a scratch clone it is a link, which .gitignore does not mean
  const tracked = git(ROOT, "ls-files", "-z", "--cached", "--others", "--exclude-standard", ...paths);
  const from = { cwd: ROOT, input: tracked, maxBuffer: 2 ** 28 };
  const packed = execFileSync("tar", ["c", "--null", "--files-from=-"], from);
  execFileSync("tar", ["x"], { cwd: folder, input: packed });
  git(folder, "init", "--quiet");
  git(folder, "add", "--all");
  git(folder, "commit", "--quiet", "--message", "a");
  return release(folder, ROOT, env);
}

/** In a clone of this repository, with what was built in another one; with DOWNLOADS also the executable. */
export function release(clone: string, builtIn: string, env: Env): string {
  mkdirSync(join(clone, "dist"));
  cpSync(join(builtIn, "dist/main.js"), join(clone, "dist/main.js"));
  if (env["DOWNLOADS"] !== undefined) {
    mkdirSync(join(clone, "dist/executables"));
    cpSync(executable(), join(clone, "dist/executables", basename(EXECUTABLE)));
  }
  symlinkSync(join(ROOT, "node_modules"), join(clone, "node_modules"));
  for (const script of ["release/licenses.ts", "release/release.ts"]) runScript(clone, script, env);
  return join(clone, "dist/release");
}
