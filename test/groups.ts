/**
 * `node test/groups.ts FOLDER...`: prints modules for `node --test`, each of which runs the tests of one folder below in
 * one process. A process for each file would take longer to start than most of them take.
 */

import { globSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join, resolve } from "node:path";
import { pathToFileURL } from "node:url";

const OUT = resolve("dist/test-groups");
/** Takes longest: begun first, it does not run alone in the end. */
const FIRST = "model";

/** By the folder that the tests are in; those of subfolders are with it. */
function groupsOf(folders: readonly string[]): Map<string, string[]> {
  const groups = new Map<string, string[]>();
  for (const folder of folders) {
    for (const file of globSync("**/*.test.ts", { cwd: folder }).toSorted()) {
      const [first = "", ...rest] = file.split("/");
      const name = rest.length === 0 ? folder.replaceAll("/", "-") : first;
      groups.set(name, [...(groups.get(name) ?? []), join(folder, file)]);
    }
  }
  return groups;
}

rmSync(OUT, { recursive: true, force: true });
mkdirSync(OUT, { recursive: true });
const groups = groupsOf(process.argv.slice(2));
if (groups.size === 0) throw new Error("no tests in these folders");
for (const [name, files] of groups) {
  const path = join(OUT, `${name === FIRST ? "0-" : ""}${name}.mjs`);
  writeFileSync(path, files.map((file) => `import "${pathToFileURL(file).href}";\n`).join(""));
  process.stdout.write(`${path}\n`);
}
