/**
 * What the bundle is made of besides our own code, and under which licences it may be passed on. Run as a program it
 * writes their texts to dist/THIRD_PARTY_LICENSES.txt, unless there is one that is not allowed.
 */

import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "..");

/** Permissive ones, by their SPDX identifiers. Another one is a decision: read it, then add it here. */
export const ALLOWED_LICENSES: ReadonlySet<string> = new Set([
  "0BSD",
  "Apache-2.0",
  "BSD-2-Clause",
  "BSD-3-Clause",
  "ISC",
  "MIT",
  "PSF-2.0",
  "Unlicense",
]);

export interface Dependency {
  readonly name: string;
  readonly version: string;
  /** An SPDX expression; absent: its package.json says none. */
  readonly license: string | undefined;
  /** Below the repository: "node_modules/ajv". */
  readonly folder: string;
}

interface Lock {
  readonly packages: Readonly<Record<string, LockedPackage>>;
}

interface LockedPackage {
  readonly version?: string;
  readonly license?: string;
  /** For development alone. */
  readonly dev?: boolean;
  /** A folder of this repository. */
  readonly link?: boolean;
}

/** Everything that `npm ci --omit=dev` installs, in the order of the lock file. */
export function productionDependencies(lock: Lock = lockFile()): Dependency[] {
  return Object.entries(lock.packages)
    .filter(([folder, { dev, link }]) => folder !== "" && dev !== true && link !== true)
    .map(([folder, { version = "", license }]) => {
      const name = folder.slice(folder.lastIndexOf("node_modules/") + "node_modules/".length);
      return { name, version, license, folder };
    });
}

function lockFile(): Lock {
  return JSON.parse(readFileSync(join(ROOT, "package-lock.json"), "utf8"));
}

/** One line for each dependency whose licence is not known to be allowed. */
export function licenseProblems(dependencies: readonly Dependency[]): string[] {
  return dependencies
    .filter(({ license }) => license === undefined || !isAllowed(license))
    .map(({ name, version, license = "none" }) => `${name} ${version}: licence ${license}`);
}

/** Of the SPDX expressions only what packages write: "A", "A OR B", "A AND B", in brackets or not. */
function isAllowed(expression: string): boolean {
  const plain = expression.trim().replace(/^\((.*)\)$/, "$1");
  if (plain.includes("(")) return false;
  return plain
    .split(" OR ")
    .some((choice) => choice.split(" AND ").every((license) => ALLOWED_LICENSES.has(license.trim())));
}

/** The texts that have to go along with the bundle. */
export function licenseTexts(root: string, dependencies: readonly Dependency[]): string {
  const parts = dependencies.map(({ name, version, license, folder }) => {
    const texts = filesOf(join(root, folder)).map((file) => readFileSync(file, "utf8").trim());
    const body = texts.length > 0 ? texts.join("\n\n") : "The package contains no text of its licence.";
    return `${name} ${version} (${license})\n\n${body}\n`;
  });
  const line = `\n${"-".repeat(80)}\n\n`;
  return ["This program contains the packages below, under their own licences.\n", ...parts].join(line);
}

function filesOf(folder: string): string[] {
  if (!existsSync(folder)) throw new Error(`${folder} is not there: run npm ci`);
  return readdirSync(folder)
    .filter((name) => /^(licen[cs]e|notice|copying)/i.test(name))
    .toSorted()
    .map((name) => join(folder, name));
}

if (import.meta.main) {
  const dependencies = productionDependencies();
  const problems = licenseProblems(dependencies);
  if (problems.length > 0) {
    throw new Error(`not among the allowed licences of release/licenses.ts:\n  ${problems.join("\n  ")}`);
  }
  writeFileSync(join(ROOT, "dist/THIRD_PARTY_LICENSES.txt"), licenseTexts(ROOT, dependencies));
}
