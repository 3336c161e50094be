/** `hookpolicy validate`: finds errors and warnings in policy files. */

import type { Command } from "commander";
import { colourFor } from "../terminal/colour.ts";
import { addExamples, choice, CommandError, FAILED, USAGE } from "../command.ts";
import type { ValidationReport } from "./report.ts";
import { parseOptions } from "../../operator/options.ts";
import { stderr, stdout } from "../terminal/output.ts";

const FORMATS = ["text", "json", "github", "sarif"] as const;

interface Flags {
  readonly output: (typeof FORMATS)[number];
  readonly capiVersion?: string;
  readonly strict?: true;
  readonly color: boolean;
}

const EXAMPLES = `\
  # Every .yaml, .yml and .json file below a folder
  hookpolicy validate policies/

  # What a build of kustomize or Helm gives
  kustomize build overlays/production | hookpolicy validate -

  # In a GitHub workflow: errors stand beside the lines of the pull request
  hookpolicy validate policies/ -o github

  # For code scanning
  hookpolicy validate policies/ -o sarif > hookpolicy.sarif`;

export function addValidate(program: Command): void {
  const command = program
    .command("validate")
    .argument("<path...>", "files, folders and patterns; - is standard input")
    .summary("check policy files")
    .description(
      "Checks HookPolicies, ClusterHookPolicies and HookOverrides: against their schema, and expressions, windows and versions in them. Other kinds are ignored.\n\nExit code: 0 no errors, 1 errors, 2 files that cannot be read or wrong usage.",
    )
    .addOption(choice("-o, --output <format>", "how to print", FORMATS))
    .option(
      "--capi-version <version>",
      "also check that this Cluster API version calls the hooks, such as 1.12",
    )
    .option("--strict", "exit 1 for warnings, too");
  addExamples(command, EXAMPLES);
  command.action(async (paths: readonly string[], _: unknown, self: Command) => {
    await validate(paths, self.optsWithGlobals<Flags>());
  });
}

async function validate(paths: readonly string[], flags: Flags): Promise<void> {
  const { capiVersion, maxOverrideMs } = parseOptions({ "capi-version": flags.capiVersion });
  const { loadPaths } = await import("../files/load.ts");
  const { validateObjects } = await import("./validation.ts");
  const { servedHooks } = await import("../../api/hookcatalog.ts");
  const { objects, problems, ignored, broken = new Map() } = await loadPaths(paths);
  const served = servedHooks(capiVersion.minor);
  const validation = validateObjects(objects, { served, maxOverrideMs, now: new Date() });
  const report = { ...validation, problems, ignored, broken };
  const { unreadLines, validationLines } = await import("./report.ts");
  if (flags.output === "text") {
    stderr.lines(unreadLines(report, colourFor(process.stderr, flags, process.env)));
    const colour = colourFor(process.stdout, flags, process.env);
    stdout.lines(validationLines(report, { colour, columns: process.stdout.columns }));
  } else stdout.document(await document(report, flags.output));
  if (problems.length > 0 || report.unknown > 0) throw new CommandError(USAGE);
  const failing = flags.strict === true ? report.findings : report.findings.filter(isError);
  if (failing.length > 0) throw new CommandError(FAILED);
}

async function document(report: ValidationReport, format: "json" | "github" | "sarif"): Promise<string> {
  if (format === "sarif") return (await import("./sarif.ts")).validationSarif(report);
  const { validationGithub, validationJson } = await import("./report.ts");
  return format === "json" ? validationJson(report) : validationGithub(report);
}

function isError({ severity }: { readonly severity: string }): boolean {
  return severity === "error";
}
