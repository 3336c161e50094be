/** dist/main.js, built by the script of package.json if a source is newer: what is tested is what was edited. */

import { execFileSync } from "node:child_process";
import {
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
  utimesSync,
} from "node:fs";
import { delimiter, dirname, join } from "node:path";

const ROOT = join(import.meta.dirname, "..");
const DIST = join(ROOT, "dist");
const MAIN = join(DIST, "main.js");

/** Of what was compiled in dist/main.js: starting it again takes half as long. */
export const COMPILE_CACHE = join(DIST, "compile-cache");

/** Its path. Processes that build at the same time do not disturb each other: what they build is put there at once. */
export function bundle(): string {
  const sources = [
    "package.json",
    "package-lock.json",
    ...filesOf("src"),
    ...filesOf("schemas"),
    "release/build.ts",
    "release/validators.ts",
  ];
  const newest = Math.max(...sources.map((source) => modified(join(ROOT, source))));
  if (modified(MAIN) < newest) build();
  return MAIN;
}

/** Folders as well, from which a file can be missing. */
function filesOf(folder: string): string[] {
  const files = readdirSync(join(ROOT, folder), { recursive: true, encoding: "utf8" });
  return [folder, ...files.map((file) => join(folder, file))];
}

function modified(path: string): number {
  return statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? -Infinity;
}

function build(): void {
  const { scripts }: { scripts: { build: string } } = JSON.parse(
    readFileSync(join(ROOT, "package.json"), "utf8"),
  );
  const begun = new Date();
  mkdirSync(DIST, { recursive: true });
  const folder = mkdtempSync(join(DIST, "build-"));
  try {
    const path = [join(ROOT, "node_modules/.bin"), dirname(process.execPath), process.env["PATH"]];
    const command = scripts.build.replaceAll("dist/main.js", join(folder, "main.js"));
    execFileSync("sh", ["-c", command], {
      cwd: ROOT,
      env: { ...process.env, PATH: path.join(delimiter) },
      stdio: ["ignore", "inherit", "inherit"],
    });
    // What is edited while it builds is newer.
    utimesSync(join(folder, "main.js"), begun, begun);
    rmSync(COMPILE_CACHE, { recursive: true, force: true });
    for (const file of ["main.js.map", "main.js"]) renameSync(join(folder, file), join(DIST, file));
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
