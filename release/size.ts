/**
 * `node release/size.ts`: how large what is shipped has become, after a build. It may grow by a tenth over
 * release/budget.json; whoever adds more says so there: `node release/size.ts --write`.
 */

import { spawnSync } from "node:child_process";
import { readFileSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { productionDependencies } from "./licenses.ts";

const ROOT = join(import.meta.dirname, "..");
const BUDGET = join(import.meta.dirname, "budget.json");
const TOLERANCE = 1.1;

export interface Sizes {
  /** Bytes of dist/main.js. */
  readonly program: number;
  /** Bytes of the npm package as it is downloaded. */
  readonly package: number;
  /** In package.json. */
  readonly directDependencies: number;
  /** All that `npm ci --omit=dev` installs. */
  readonly dependencies: number;
}

/** One line for each that has grown too much. */
export function overBudget(sizes: Sizes, budget: Sizes): string[] {
  const names: (keyof Sizes)[] = ["program", "package", "directDependencies", "dependencies"];
  return names
    .filter((name) => sizes[name] > budget[name] * TOLERANCE)
    .map((name) => `${name}: ${sizes[name]}, of ${budget[name]} in release/budget.json`);
}

function measure(): Sizes {
  const packed = spawnSync("npm", ["pack", "--dry-run", "--json", "--ignore-scripts"], {
    cwd: ROOT,
    encoding: "utf8",
  });
  const [npmPackage]: { readonly size: number }[] = JSON.parse(packed.stdout);
  const { dependencies }: { dependencies: object } = JSON.parse(
    readFileSync(join(ROOT, "package.json"), "utf8"),
  );
  return {
    program: statSync(join(ROOT, "dist/main.js")).size,
    package: npmPackage?.size ?? 0,
    directDependencies: Object.keys(dependencies).length,
    dependencies: productionDependencies().length,
  };
}

if (import.meta.main) {
  const sizes = measure();
  const text = `${JSON.stringify(sizes, undefined, 2)}\n`;
  if (process.argv.includes("--write")) writeFileSync(BUDGET, text);
  process.stdout.write(
    `dist/main.js ${sizes.program} bytes, npm package ${sizes.package} bytes, ` +
      `${sizes.dependencies} production dependencies, ${sizes.directDependencies} of them direct\n`,
  );
  const grown = overBudget(sizes, JSON.parse(readFileSync(BUDGET, "utf8")));
  if (grown.length > 0) {
    process.stdout.write(`${["Grown by more than a tenth:", ...grown].join("\n  ")}\n`);
    process.exitCode = 1;
  }
}
