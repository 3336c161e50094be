/**
 * `node test/groups.ts FOLDER...`: prints modules for `node --test`, each of which runs the tests of one folder below in
 * one process. A process for each file would take longer to start than most of them take.
 */

import { globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const OUT = resolve("dist/test-groups");
/** A folder below these whose tests need a control plane. */
const ON_REAL_PARTS = "apiserver";
/** Each of its files takes as long as another folder. */
const SPLIT = "model";
/** Begun first, so that none of them runs alone in the end. */
const LONGEST = [
  "test-redteam",
  "cli",
  "kube",
  "model-rollout",
  "published",
  "test-unit",
  "report",
  "policy",
  "model-finalizer",
  "model-release",
];

/** By the folder that the tests are in; those of subfolders are with it. */
function groupsOf(folders: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const folder of folders) {
    for (const file of globSync("**/*.test.ts", {
      cwd: folder,
      exclude: [`${ON_REAL_PARTS}/**`],
    }).toSorted()) {
      const [first = "", ...rest] = file.split("/");
      const name = rest.length === 0 ? folder.replaceAll("/", "-") : nameOf(first, file);
      groups.set(name, [...(groups.get(name) ?? []), join(folder, file)]);
    }
  }
  return groups;
}

function nameOf(folder: string, file: string): string {
  return folder === SPLIT ? `${folder}-${basename(file, ".test.ts")}` : folder;
}

/** The runner begins files in the order of their names, as texts. */
function placeOf(name: string): string {
  const place = LONGEST.includes(name) ? LONGEST.indexOf(name) : LONGEST.length;
  return String(place).padStart(2, "0");
}

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
const groups = groupsOf(process.argv.slice(2));
if (groups.size === 0) throw new Error("no tests in these folders");
for (const [name, files] of groups) {
  const path = join(OUT, `${placeOf(name)}-${name}.mjs`);
  writeFileSync(path, files.map((file) => `import "${pathToFileURL(file).href}";\n`).join(""));
  process.stdout.write(`${path}\n`);
}
