/** `hookpolicy simulate`: shows what a change of policies would do to the fleet. */

import { Command, InvalidArgumentError } from "commander";
import { HOOK_NAMES } from "../../api/runtime-hooks.ts";
import {
  type CommandCall,
  choice,
  collect,
  collecting,
  CommandError,
  FAILED,
  type FlagsOf,
  hookName,
  instant,
  INSTANTS,
  runs,
  USAGE,
  version,
} from "../command.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { Progress } from "../terminal/progress-line.ts";
import { problemLine } from "../terminal/problem-line.ts";
import { CHANGES } from "./change.ts";
import type { FleetPair } from "./changed-fleet.ts";
import type { Simulation } from "./simulation.ts";
import type { PresentState } from "./preparation.ts";
import type { Times } from "./request-turns.ts";
import { parseOptions } from "../../operator/options.ts";
import { UsageError } from "../../lib/thrown.ts";
import { addConnectionFlags, reading } from "../fleet/connection.ts";
import { readAllObjects } from "../fleet/object-files.ts";
import { terminalOf } from "../terminal/terminal.ts";
import { stderr, stdout } from "../terminal/output.ts";

const FORMATS = ["text", "json", "yaml", "markdown"] as const;
const FAIL_ON = ["never", ...CHANGES, "any"] as const;
const LIVE = "live";

const EXAMPLES = `\
  # What would the policies of this branch change in the cluster, until then?
  hookpolicy simulate -f policies/ --to 2026-12-01

  # In a pull request: the branch, against the folder of main with its Clusters
  hookpolicy simulate -f policies/ --prune --against ../main --from 2026-11-23 --to 2026-11-30 -o markdown --fail-on any

  # Over the holidays
  hookpolicy simulate -f freeze.yaml --against fleet/ --from 2026-12-18T00:00:00Z --to 2027-01-08T00:00:00Z`;

const command = addConnectionFlags(
  new Command("simulate")
    .summary("show what a change of policies would do")
    .description(
      "Applies objects to a fleet in memory, and compares what every hook of every Cluster would be answered before and after. Nothing is written anywhere.\n\nExit code: 0 done, 1 changes that --fail-on names, 2 input that cannot be read or wrong usage.",
    )
    .requiredOption(
      "-f, --filename <path>",
      "files, folders and patterns to apply; - is standard input",
      collect,
    )
    .option("--against <live|path>", "the fleet: the API server's, or that of files and folders", once, LIVE)
    .option(
      "--exclude <pattern>",
      "leave out files and folders in folders, such as 'charts/*/templates' or '*.tmpl.yaml'; repeatable",
      collect,
    )
    .option("--prune", "policies and rollouts that are not among the applied objects are deleted")
    .option("--at <time>", `the instant of the calls: ${INSTANTS}; default: now`, instant)
    .option(
      "--to <time>",
      "compare until then, not only one instant, so that windows open and close",
      instant,
    )
    .option("--from <time>", "with --to: the beginning; default: now", instant)
    .option("--hook <name>", "only this hook; may be repeated", collecting(hookName))
    .option(
      "--to-version <version>",
      "the version that upgrades go to; default: what each Cluster shows, else what its topology wants",
      version,
    )
    .option(
      "--from-version <version>",
      "the version that upgrades come from, for expressions that read it; default: what each Cluster shows",
      version,
    )
    .addOption(
      choice(
        "--fail-on <change>",
        "exit 1 for such changes, and for unknown ones; any: also for rules that change without a difference in any answer",
        FAIL_ON,
      ),
    )
    .addOption(choice("-o, --output <format>", "how to print", FORMATS))
    .option(
      "--capi-version <version>",
      "Cluster API version that calls, such as 1.12; default: what the operator is told",
    ),
);

type Flags = FlagsOf<typeof command>;

export const addSimulate = runs(command, EXAMPLES, runSimulation);

/** Refuses a second value, because it would silently replace the first. */
function once(value: string, before: string): string {
  if (command.getOptionValueSource("against") === "cli")
    throw new InvalidArgumentError(`already given as ${before}: put files of one fleet in one folder`);
  return value;
}

async function runSimulation({ flags }: CommandCall<Flags>): Promise<void> {
  const times = timesOf(flags);
  const options = parseOptions({ "capi-version": flags.capiVersion });
  if (flags.against === "-" && flags.filename.includes("-"))
    throw new UsageError("-f - and --against - both read standard input: one of them must be a file");
  const sources = await readAllObjects(flags.filename, [], flags.exclude);
  const { lacksPolicies, prepare, warningsOf } = await import("./preparation.ts");
  const present = await readPresent(
    flags,
    sources.map(({ object }) => object),
  );
  const prepared = prepare(sources, present, {
    options: present.options ?? options,
    now: times.from,
    prune: flags.prune === true,
  });
  if (prepared.problems.length > 0) {
    stderr.lines(prepared.problems.map(problemLine));
    throw new CommandError(USAGE);
  }
  if (prepared.pair.after.clusters().length === 0) {
    const places = [flags.against, ...flags.filename].join(", ");
    throw new CommandError(
      USAGE,
      `there is no Cluster to simulate in ${places}: add Clusters with --against or -f`,
    );
  }
  if (lacksPolicies(prepared.pair, present)) warnOfNothingBefore(flags);
  const simulation = await compare(prepared.pair, flags, times);
  stderr.lines(warningsOf(prepared.pair, simulation).map((line) => `warning: ${line}`));
  await report(simulation, times, flags);
  if (fails(simulation, flags.failOn)) throw new CommandError(FAILED);
}

/** docs/cli.md gives the same advice. */
const ADVICE =
  "If there were some before this change, --against needs them, too, such as the whole folder of the main branch; if there were none, --fail-on never, or in --against the empty list that 'kubectl get --raw /apis/hookpolicy.dev/v1alpha1/hookpolicies' prints";

/** Without a policy to compare with, a weakened policy is a new one, of which only additional blocks could fail. */
function warnOfNothingBefore({ against, failOn }: Flags): void {
  const lacking = `--against ${against} has no policy and no HookRollout: nothing can be newly allowed`;
  if (against !== LIVE && failOn !== "never" && failOn !== "newly-blocked")
    throw new CommandError(
      USAGE,
      `${lacking}, and --fail-on ${failOn} could not tell a weakened policy. ${ADVICE}`,
    );
  stderr.line(`warning: ${lacking}`);
}

/**
 * An unknown change can be any of the others, and a rule that changes without a difference in any answer can be looser all the
 * same.
 */
function fails({ changes, unseen }: Simulation, named: Flags["failOn"]): boolean {
  if (named === "never") return false;
  if (named === "any") return changes.length + unseen.length > 0;
  return changes.some(({ change }) => change === named || change === "unknown");
}

function timesOf({ at, from, to }: Flags): Times {
  if (at !== undefined && (from !== undefined || to !== undefined)) {
    throw new UsageError("--at is an instant, --from and --to are a time: one or the other");
  }
  if (to === undefined) {
    if (from !== undefined) throw new UsageError("--from needs --to");
    return { from: at ?? new Date() };
  }
  const begin = from ?? new Date();
  if (begin >= to) throw new UsageError(`${from === undefined ? "now" : "--from"} must be before --to`);
  return { from: begin, to };
}

async function readPresent(flags: Flags, applied: readonly RawObject[]): Promise<PresentState> {
  if (flags.against !== LIVE) {
    const sources = await readAllObjects([flags.against], applied, flags.exclude);
    return { objects: sources.map(({ object }) => object) };
  }
  const { withApiServer } = await import("../fleet/live-fleet.ts");
  const { readPresentFleet } = await import("./preparation.ts");
  const { operatorOptions } = await import("../fleet/operator-options.ts");
  return await reading(() =>
    withApiServer(flags, async (client) => {
      const { options } = await operatorOptions(client, flags.capiVersion);
      return { ...(await readPresentFleet(client, applied)), options };
    }),
  );
}

async function compare(pair: FleetPair, flags: Flags, times: Times): Promise<Simulation> {
  const { simulate } = await import("./simulation.ts");
  const { advertised } = pair.after.served;
  const progress = new Progress();
  const simulation = await simulate(
    pair,
    {
      ...times,
      hooks: HOOK_NAMES.filter((hook) => advertised.has(hook) && (flags.hook?.includes(hook) ?? true)),
      ...(flags.toVersion !== undefined && { version: flags.toVersion }),
      ...(flags.fromVersion !== undefined && { fromVersion: flags.fromVersion }),
    },
    (done, total) => progress.tell(() => `simulated ${done} of ${total} Clusters`),
  );
  progress.end();
  return simulation;
}

async function report(simulation: Simulation, times: Times, flags: Flags): Promise<void> {
  const { simulationJson, simulationLines, simulationMarkdown } = await import("./report.ts");
  const { yamlText } = await import("../terminal/yaml-text.ts");
  switch (flags.output) {
    case "json":
      return stdout.json(simulationJson(simulation, times));
    case "yaml":
      return stdout.document(yamlText(simulationJson(simulation, times)));
    case "markdown":
      return stdout.document(simulationMarkdown(simulation, times));
    case "text":
      return stdout.lines(simulationLines(simulation, times, terminalOf(process.stdout, flags)));
  }
}
