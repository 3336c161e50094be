/** `hookpolicy test`: runs suites of policies without a cluster. */

import { Command, Option } from "commander";
import { colourFor } from "../terminal/colour.ts";
import { choice, CommandError, FAILED, type FlagsOf, runs, USAGE, wholeNumber } from "../command.ts";
import { parseTime } from "../fleet/connection.ts";
import { problemLine } from "../terminal/problem-line.ts";
import type { SuiteResult } from "./result.ts";
import type { Suite } from "./suite.ts";
import { stderr, stdout } from "../terminal/output.ts";
import type { FileProblem } from "../files/parsed.ts";

const FORMATS = ["text", "junit", "markdown", "json"] as const;

const EXAMPLES = `\
  # Every suite below a folder
  hookpolicy test policies/

  # In a pipeline: a folder without a suite is a failure, too
  hookpolicy test --require-tests -o junit tests/ > report.xml

  # Which rules and gates have the suites seen?
  hookpolicy test --coverage tests/

  # Would the suites notice a mistake in the policies?
  hookpolicy test --mutate --fail-under 80 tests/

  # A suite from the decisions of a running operator (its --audit-log)
  hookpolicy test --record audit.log --write tests/incident.yaml policies/ fleet/`;

const command = new Command("test")
  .argument("<path...>", "files, folders and patterns; - is standard input")
  .summary("run test suites of policies")
  .description(
    "Runs the suites (kind HookPolicyTest) in files: calls as Cluster API makes them, under a clock of the suite's own, decided as the operator decides. Other kinds are ignored.\n\nExit code: 0 all passed, 1 failures or errors, 2 files that cannot be read or are no suites, or wrong usage.",
  )
  .addOption(choice("-o, --output <format>", "how to print", FORMATS))
  .option("--require-tests", "exit 1 when there is no suite")
  .option("--coverage", "also list which verdicts, gates and tasks the suites have seen")
  .option("--mutate", "change the policies in small ways, and list the changes that no suite notices")
  .addOption(
    new Option("--fail-under <percent>", "with --mutate: exit 1 when the suites notice fewer").argParser(
      wholeNumber(0, 100),
    ),
  )
  .addOption(
    new Option("--timeout <duration>", "with --mutate: how long to run")
      .argParser(parseTime)
      .default(parseTime("5m"), "5m"),
  )
  .option(
    "--record <log>",
    "write a suite from an audit log; the paths are the policies, and the Clusters as they were",
  )
  .option(
    "--write <file>",
    "with --record: a new file for the suite; default: standard output, for a suite in this folder",
  );

type Flags = FlagsOf<typeof command>;

export const addTest = runs(command, EXAMPLES, async ({ flags }, paths) => {
  checkFlags(flags);
  if (flags.record === undefined) return await runTests(paths, flags);
  const { recordSuite } = await import("./record/record-suite.ts");
  await recordSuite(paths, flags.record, flags.write);
});

/** Throws for the first pair of flags that contradict each other. */
function checkFlags(flags: Flags): void {
  const { output } = flags;
  const reportsText = output === "text" && flags.mutate === undefined;
  const conflicts = [
    [flags.write !== undefined && flags.record === undefined, "--write is for --record"],
    [
      flags.record !== undefined && !(reportsText && flags.coverage === undefined),
      "--record writes a suite, and runs none: leave out --mutate, --coverage and -o",
    ],
    [
      flags.coverage === true && (["markdown", "junit"].includes(output) || flags.mutate === true),
      "--coverage is for the text report; JSON always has it",
    ],
    [flags.failUnder !== undefined && flags.mutate === undefined, "--fail-under is for --mutate"],
    [
      flags.mutate === true && output !== "text" && output !== "json",
      `--mutate has no -o ${output}: text or json`,
    ],
  ] as const;
  for (const [isConflict, message] of conflicts) if (isConflict) throw new CommandError(USAGE, message);
}

async function runTests(paths: readonly string[], flags: Flags): Promise<void> {
  const { results, suites, found, named, problems } = await runSuites(paths);
  // The text report contains the problems.
  if (flags.output !== "text") stderr.lines(problems.map(problemLine));
  if (found === 0) stderr.line(`no HookPolicyTest in ${paths.join(", ")}`);
  const passed = results.every(({ status }) => status === "passed");
  if (flags.mutate !== true || !passed) await report(results, flags);
  if (problems.length > 0) throw new CommandError(USAGE);
  if (flags.mutate === true && !passed) stderr.line("no mutants: every suite has to pass first");
  if (!passed) throw new CommandError(FAILED);
  if (found === 0) checkNone(named, flags);
  if (flags.mutate !== true) return;
  const { testMutants } = await import("./mutate/mutation.ts");
  await testMutants(suites, flags);
}

/** A file that was named, and not found in a folder, was meant to be a suite. */
function checkNone(named: boolean, { requireTests }: Flags): void {
  if (requireTests === true) throw new CommandError(FAILED);
  if (named) throw new CommandError(USAGE, "name the files of suites, or folders with them");
}

async function runSuites(paths: readonly string[]) {
  const { loadPaths } = await import("../files/load.ts");
  const { isMeantAsSuite, loadSuite } = await import("./suite.ts");
  const { runSuite } = await import("./run-suite.ts");
  const { objects, problems } = await loadPaths(paths);
  const sources = objects.filter(({ object }) => isMeantAsSuite(object));
  const results: SuiteResult[] = [];
  const suites: Suite[] = [];
  for (const source of sources) {
    const loaded = await loadSuite(source);
    results.push(await runSuite(loaded));
    if (loaded.suite !== undefined) suites.push(loaded.suite);
  }
  results.push(...problems.map(unreadable));
  const named = objects.some(({ file }) => paths.includes(file));
  return { results, suites, found: sources.length, named, problems };
}

function unreadable(problem: FileProblem): SuiteResult {
  const { file } = problem;
  return { name: file, file, status: "error", problems: [problem], steps: [], unreadable: true, seconds: 0 };
}

async function report(results: readonly SuiteResult[], flags: Flags): Promise<void> {
  const { suitesJson, suitesLines, suitesMarkdown } = await import("./report.ts");
  switch (flags.output) {
    case "junit": {
      const { suitesJunit } = await import("./junit.ts");
      return stdout.document(suitesJunit(results));
    }
    case "markdown":
      return stdout.document(suitesMarkdown(results));
    case "json":
      return stdout.document(suitesJson(results));
    case "text": {
      if (results.length === 0) return;
      const colour = colourFor(process.stdout, flags);
      stdout.lines(suitesLines(results, colour));
      if (flags.coverage !== true) return;
      const { coverageLines } = await import("./coverage.ts");
      const covered = results.flatMap(({ coverage = [] }) => coverage);
      stdout.lines(["", ...coverageLines(covered, colour)]);
    }
  }
}
