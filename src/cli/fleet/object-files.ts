/** Reads objects from files for commands that decide with them. */

import { CommandError, USAGE } from "../command.ts";
import type { RawObject } from "./kinds.ts";
import { problemLine } from "../terminal/problem-line.ts";
import { stderr } from "../terminal/output.ts";
import type { SourceObject } from "../files/parsed.ts";

export interface ObjectFiles {
  readonly sources: readonly SourceObject[];
  readonly objects: readonly RawObject[];
  /** Whether nothing was left out: no file, and no object that was meant for HookPolicy. */
  readonly isWhole: boolean;
  /** Whether no kustomization changes the objects, so that they are what is applied. */
  readonly isBuilt: boolean;
}

/** Reports problems on stderr. `policies`: those from elsewhere whose gates look at the objects. */
export async function readObjectFiles(
  paths: readonly string[],
  policies: readonly RawObject[] = [],
): Promise<ObjectFiles> {
  const { loadPaths } = await import("../files/load.ts");
  const { objectProblems, objectWarnings } = await import("../validate/kind-problems.ts");
  const loaded = await loadPaths(paths);
  const { objects: sources } = loaded;
  const { problems, isBuilt } = objectProblems(loaded, policies);
  const all = [...loaded.problems, ...problems];
  stderr.lines(all.map(problemLine));
  for (const { file, line, message } of objectWarnings(sources)) {
    stderr.line(`warning: ${file}:${line}: ${message}`);
  }
  return { sources, objects: sources.map(({ object }) => object), isWhole: all.length === 0, isBuilt };
}

export async function readAllObjects(
  paths: readonly string[],
  policies: readonly RawObject[] = [],
): Promise<readonly SourceObject[]> {
  const { sources, isWhole } = await readObjectFiles(paths, policies);
  if (!isWhole) throw new CommandError(USAGE);
  return sources;
}
