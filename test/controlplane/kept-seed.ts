/** The seed of an earlier run, if nothing has changed of what it is made of: no test runs while another is made. */
import { createHash } from "node:crypto";
import {
  copyFileSync,
  globSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  renameSync,
  rmSync,
  statSync,
} from "node:fs";
import { join, relative, resolve } from "node:path";
import { cacheRoot } from "./parts.ts";

const ROOT = resolve(import.meta.dirname, "../..");
/** What is installed, and what installs it. */
const SOURCES = [
  "test/controlplane/*.ts",
  "test/controlplane/cluster-api/go.*",
  "{manifests,crds}/**/*.{yaml,json}",
];

export interface Ingredients {
  /** Files; every checkout with the same has the same seed. */
  readonly sources: readonly string[];
  /** Files of a hundred megabytes: their sizes and dates stand for them. */
  readonly programs: readonly string[];
}

export function ingredientsOf(programs: readonly string[]): Ingredients {
  return { sources: globSync(SOURCES, { cwd: ROOT }).map((file) => join(ROOT, file)), programs };
}

/** Puts the seed into `file`. What is kept is whole, also if a run is killed, or two make one at the same time. */
export async function keptSeed(
  file: string,
  ingredients: Ingredients,
  make: (file: string) => Promise<void>,
): Promise<void> {
  const folder = join(cacheRoot(), "seeds");
  const name = nameOf(ingredients);
  if (isCopied(join(folder, name), file)) return;
  await make(file);
  mkdirSync(folder, { recursive: true });
  for (const old of readdirSync(folder).filter((each) => !each.endsWith(".new")))
    rmSync(join(folder, old), { force: true });
  const begun = join(folder, `${process.pid}.new`);
  copyFileSync(file, begun);
  renameSync(begun, join(folder, name));
}

/** It may be missing, also since a moment ago. */
function isCopied(kept: string, file: string): boolean {
  try {
    copyFileSync(kept, file);
    return true;
  } catch {
    return false;
  }
}

function nameOf({ sources, programs }: Ingredients): string {
  const hash = createHash("sha256");
  for (const file of sources.toSorted())
    hash.update(JSON.stringify([relative(ROOT, file), readFileSync(file).toString("base64")]));
  for (const file of programs) {
    const { size, mtimeMs } = statSync(file);
    hash.update(JSON.stringify([file, size, mtimeMs]));
  }
  return hash.digest("hex");
}
