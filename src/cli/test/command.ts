/** `hookpolicy test`: runs suites of policies without a cluster. */

import { dirname } from "node:path";
import type { Command } from "commander";
import { colourFor } from "../terminal/colour.ts";
import { addExamples, choice, CommandError, FAILED, USAGE } from "../command.ts";
import { problemLine } from "../terminal/problemline.ts";
import type { SuiteResult } from "./result.ts";
import type { SourceObject } from "../files/load.ts";
import { stderr, stdout } from "../terminal/output.ts";
import type { FileProblem } from "../files/parsed.ts";

const FORMATS = ["text", "junit", "markdown", "json"] as const;

interface Flags {
  readonly output: (typeof FORMATS)[number];
  readonly requireTests?: true;
  readonly color: boolean;
}

const EXAMPLES = `\
  # Every suite below a folder
  hookpolicy test policies/

  # In a pipeline: a folder without a suite is a failure, too
  hookpolicy test --require-tests -o junit tests/ > report.xml`;

export function addTest(program: Command): void {
  const command = program
    .command("test")
    .argument("<path...>", "files, folders and patterns; - is standard input")
    .summary("run test suites of policies")
    .description(
      "Runs the suites (kind HookPolicyTest) in files: calls as Cluster API makes them, under a clock of the suite's own, decided as the operator decides. Other kinds are ignored.\n\nExit code: 0 all passed, 1 failures or errors, 2 files that cannot be read or wrong usage.",
    )
    .addOption(choice("-o, --output <format>", "how to print", FORMATS))
    .option("--require-tests", "exit 1 when there is no suite");
  addExamples(command, EXAMPLES);
  command.action(async (paths: readonly string[], _: unknown, self: Command) => {
    await runTests(paths, self.optsWithGlobals<Flags>());
  });
}

async function runTests(paths: readonly string[], flags: Flags): Promise<void> {
  const { loadPaths } = await import("../files/load.ts");
  const { isSuite, loadSuite } = await import("./suite.ts");
  const { runSuite } = await import("./runsuite.ts");
  const { objects, problems } = await loadPaths(paths);
  const results: SuiteResult[] = [];
  const suites = objects.filter(({ object }) => isSuite(object));
  for (const source of suites) {
    const loaded = await loadSuite(
      source,
      async (files) => await loadPaths(files, { cwd: folderOf(source) }),
    );
    results.push(runSuite(loaded));
  }
  results.push(...problems.map(unreadable));
  // The text of a report says it at its place.
  if (flags.output !== "text") stderr.lines(problems.map(problemLine));
  if (suites.length === 0) stderr.line(`no HookPolicyTest in ${paths.join(", ")}`);
  await report(results, flags);
  if (problems.length > 0) throw new CommandError(USAGE);
  const missing = suites.length === 0 && flags.requireTests === true;
  if (missing || results.some(({ status }) => status !== "passed")) throw new CommandError(FAILED);
}

function unreadable(problem: FileProblem): SuiteResult {
  const { file } = problem;
  return { name: file, file, status: "error", problems: [problem], steps: [], unreadable: true, seconds: 0 };
}

function folderOf({ file }: SourceObject): string {
  return file === "-" ? "." : dirname(file);
}

async function report(results: readonly SuiteResult[], flags: Flags): Promise<void> {
  const { suitesJson, suitesLines } = await import("./report.ts");
  switch (flags.output) {
    case "junit": {
      const { suitesJunit } = await import("./junit.ts");
      return stdout.document(suitesJunit(results));
    }
    case "markdown": {
      const { suitesMarkdown } = await import("./suitemarkdown.ts");
      return stdout.document(suitesMarkdown(results));
    }
    case "json":
      return stdout.document(suitesJson(results));
    case "text":
      if (results.length > 0)
        stdout.lines(suitesLines(results, colourFor(process.stdout, flags, process.env)));
  }
}
