/** `hookpolicy validate`: finds errors and warnings in policy files. */

import { Command } from "commander";
import { Progress } from "../terminal/progress-line.ts";
import { colourFor } from "../terminal/colour.ts";
import { choice, collect, CommandError, FAILED, type FlagsOf, runs, USAGE } from "../command.ts";
import type { FileProblem } from "../files/parsed.ts";
import type { ValidationReport } from "./report.ts";
import type { ValidationOptions } from "./validation.ts";
import { parseOptions } from "../../operator/options.ts";
import { UsageError } from "../../lib/thrown.ts";
import { terminalOf } from "../terminal/terminal.ts";
import { stderr, stdout, untilReaderIsGone } from "../terminal/output.ts";

const FORMATS = ["text", "json", "github", "sarif"] as const;

const EXAMPLES = `\
  # Every .yaml, .yml and .json file below a folder
  hookpolicy validate policies/

  # A repository with files of other programs
  hookpolicy validate . --exclude charts

  # The output of kustomize or Helm
  kustomize build overlays/production | hookpolicy validate -

  # In a GitHub workflow: errors appear beside the lines of the pull request
  hookpolicy validate policies/ -o github

  # Again after every change, while you edit
  hookpolicy validate policies/ --watch

  # What tasks create and apply, against the kinds of a cluster
  kubectl get crd -o yaml > crds.yaml
  hookpolicy validate policies/ --schema crds.yaml

  # For code scanning
  hookpolicy validate policies/ -o sarif > hookpolicy.sarif`;

const command = new Command("validate")
  .argument("<path...>", "files, folders and patterns; - is standard input")
  .summary("check policy files")
  .description(
    "Checks HookPolicies, ClusterHookPolicies, HookOverrides and HookRollouts: against their schema, and expressions, windows and versions in them. Other kinds are ignored, and so are files in folders that are not YAML or JSON of Kubernetes and do not mention HookPolicy.\n\nExit code: 0 no errors, 1 errors, 2 files that cannot be read, nothing to check in them, or wrong usage.",
  )
  .addOption(choice("-o, --output <format>", "how to print", FORMATS))
  .option(
    "--capi-version <version>",
    "also check that this Cluster API version calls the hooks, such as 1.12",
  )
  .option(
    "--exclude <pattern>",
    "leave out files and folders in folders, such as 'charts/*/templates' or '*.tmpl.yaml'; repeatable",
    collect,
  )
  .option(
    "--schema <path>",
    "also check what tasks create and apply against the CustomResourceDefinitions in it; repeatable",
    collect,
  )
  .option("--strict", "exit 1 for warnings, too")
  .option("-w, --watch", "stay, and check again after every change of a file");

type Flags = FlagsOf<typeof command>;

export const addValidate = runs(command, EXAMPLES, async ({ flags }, paths) => {
  if (paths.includes("-") && flags.schema?.includes("-") === true)
    throw new UsageError("--schema -: standard input is read for policies already");
  if (flags.watch !== true) return await validate(paths, flags);
  if (flags.output !== "text" || [...paths, ...(flags.schema ?? [])].includes("-")) {
    throw new UsageError("--watch prints text, about files: leave out -o and -");
  }
  await watch(paths, flags);
});

async function validate(paths: readonly string[], flags: Flags): Promise<void> {
  const report = await check(paths, flags);
  await print(report, flags);
  if (report.problems.length > 0 || report.unknown > 0) throw new CommandError(USAGE);
  const fails = report.findings.some(({ severity }) => severity === "error" || flags.strict === true);
  if (fails) throw new CommandError(FAILED);
}

async function print(report: ValidationReport, flags: Flags): Promise<void> {
  const { output } = flags;
  const { validationGithub, validationSarif } = await import("./other-formats.ts");
  if (output === "sarif") stdout.json(validationSarif(report));
  else if (output === "github") stdout.document(validationGithub(report));
  else if (output === "json") stdout.json((await import("./report.ts")).validationJson(report));
  else {
    const { unread, lines } = await textOf(report, flags);
    stderr.lines(unread);
    stdout.lines(lines);
  }
}

/** Runs until the user ends it, or the reader of its output has gone. */
async function watch(paths: readonly string[], flags: Flags): Promise<void> {
  const { checkOnChange } = await import("./watch-files.ts");
  const again = async (): Promise<void> => {
    const report = await check(paths, flags);
    const { unread, lines } = await textOf(report, flags);
    const all = [...unread, ...lines];
    if (process.stdout.isTTY) stdout.screen(all);
    else stdout.lines([...all, ""]);
  };
  await checkOnChange([...paths, ...(flags.schema ?? [])], again, untilReaderIsGone());
}

/** A broken file that contains it may be a policy. */
const OWN = /hook(?:policy|rollout|override)/i;

async function check(paths: readonly string[], flags: Flags): Promise<ValidationReport> {
  const { capiVersion, maxOverrideMs } = parseOptions({ "capi-version": flags.capiVersion });
  const { loadPaths } = await import("../files/load.ts");
  const { validateObjects } = await import("./validation.ts");
  const { servedHooks } = await import("../../api/hook-catalog.ts");
  const progress = new Progress();
  const { objects, kustomizations, ...loaded } = await loadPaths(paths, {
    progress,
    meant: OWN,
    ...(flags.exclude !== undefined && { exclude: flags.exclude }),
  });
  const served = servedHooks(capiVersion.minor);
  const known = await schemasOf(flags);
  const options = { served, maxOverrideMs, now: new Date(), progress, kustomizations, ...known };
  const validation = validateObjects(objects, options);
  progress.end();
  const { skipped, ignored } = loaded;
  const nothing = objects.length === 0 && loaded.problems.length === 0 && skipped.length + ignored > 0;
  const problems = nothing ? [{ file: paths.join(" "), message: NOTHING }] : loaded.problems;
  return { ...validation, ...loaded, problems: [...problems, ...known.problems] };
}

interface KnownSchemas extends Pick<ValidationOptions, "checkTemplates"> {
  readonly problems: readonly FileProblem[];
}

async function schemasOf({ schema: paths }: Flags): Promise<KnownSchemas> {
  if (paths === undefined) return { problems: [] };
  const { loadPaths } = await import("../files/load.ts");
  const { templateCheck } = await import("./template-schemas.ts");
  const { objects, problems } = await loadPaths(paths, { meant: DEFINITION });
  const checkTemplates = templateCheck(objects.map(({ object }) => object));
  const none = { file: paths.join(" "), message: "has no CustomResourceDefinition, which --schema needs" };
  if (checkTemplates === undefined) return { problems: problems.length === 0 ? [none] : problems };
  return { checkTemplates, problems };
}

const DEFINITION = /CustomResourceDefinition/;

/** Templates or comments, say: that no file could be checked is no all-clear. */
const NOTHING = "no file of it has a Kubernetes object, so nothing was checked: build templates first";

async function textOf(
  report: ValidationReport,
  flags: Flags,
): Promise<Record<"unread" | "lines", readonly string[]>> {
  const { unreadLines, validationLines } = await import("./report.ts");
  return {
    unread: unreadLines(report, colourFor(process.stderr, flags)),
    lines: validationLines(report, terminalOf(process.stdout, flags)),
  };
}
