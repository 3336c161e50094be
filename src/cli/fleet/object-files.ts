/** Reads objects from files for commands that decide with them. */

import { CommandError, USAGE } from "../command.ts";
import type { RawObject } from "./kinds.ts";
import { problemLine } from "../terminal/problem-line.ts";
import { stderr } from "../terminal/output.ts";
import type { FileProblem, SourceObject } from "../files/parsed.ts";

/** Reports problems on stderr, and ends the command with them. `policies`: those from elsewhere whose gates look at the objects. */
export async function readAllObjects(
  paths: readonly string[],
  policies: readonly RawObject[] = [],
  exclude: readonly string[] = [],
): Promise<readonly SourceObject[]> {
  const { loadPaths } = await import("../files/load.ts");
  const { objectProblems, objectWarnings } = await import("./object-problems.ts");
  const loaded = await loadPaths(paths, { exclude });
  const problems = [...loaded.problems, ...objectProblems(loaded, policies)];
  stderr.lines(problems.map(problemLine));
  const isWrong = ({ file, line }: FileProblem): boolean =>
    problems.some((each) => each.file === file && each.line === line);
  for (const { file, line, message } of objectWarnings(loaded.objects).filter((each) => !isWrong(each)))
    stderr.line(`warning: ${file}:${line}: ${message}`);
  if (problems.length > 0) throw new CommandError(USAGE);
  return loaded.objects;
}
