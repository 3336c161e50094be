/** `hookpolicy doctor`: checks whether the installation protects Clusters, with a remedy for each problem. */

import { Command } from "commander";
import { type CommandCall, choice, CommandError, FAILED, type FlagsOf, runs, USAGE } from "../command.ts";
import type { Check, Settings } from "./finding.ts";
import { type Options, parseOptions } from "../../operator/options.ts";
import { addConnectionFlags, type ConnectionFlags, reading, viewOf } from "../fleet/connection.ts";
import { stdout } from "../terminal/output.ts";
import type { CommandWords } from "../terminal/printed-command.ts";

const FORMATS = ["text", "json"] as const;
const FAIL_ON = ["error", "warning"] as const;

interface DoctorFlags extends ConnectionFlags {
  readonly capiVersion?: string;
}

const EXAMPLES = `\
  # Is everything there that policies need to hold something?
  hookpolicy doctor

  # Cluster API came neither by clusterctl nor with a version in its image
  hookpolicy doctor --capi-version 1.13

  # In a pipeline, after installing or upgrading
  hookpolicy doctor -o json --fail-on warning > doctor.json`;

const command = addConnectionFlags(
  new Command("doctor")
    .summary("check the installation, and say what to do")
    .description(
      "Looks at everything that policies need in order to hold something: CRDs, the operator, Cluster API and its registration, certificates, and which Clusters are protected by what. Each line that is not ok says what to do. Reads only, apart from a dry run.\n\nExit code: 0 nothing is wrong (warnings aside, unless --fail-on says so), 1 something is, 2 cannot look.",
    )
    .option(
      "--capi-version <version>",
      "Cluster API version that is installed, such as 1.13; default: what its objects say",
    )
    .addOption(choice("--fail-on <state>", "what exit code 1 is for: errors, or warnings, too", FAIL_ON))
    .addOption(choice("-o, --output <format>", "how to print", FORMATS)),
);

type Flags = FlagsOf<typeof command>;

export const addDoctor = runs(command, EXAMPLES, runDoctor);

async function runDoctor({ flags, program }: CommandCall<Flags>): Promise<void> {
  const { doctorJson, doctorLines } = await import("./report.ts");
  const view = viewOf(flags, program);
  const checks = await diagnose(flags, flags.output === "text" ? view : undefined);
  if (flags.output === "json") stdout.json(doctorJson(checks));
  else stdout.lines(doctorLines(checks, view));
  if (checks.some(({ state }) => state === "error" || state === flags.failOn)) throw new CommandError(FAILED);
  if (checks.some(({ name, state }) => state === "unknown" && ESSENTIAL.has(name)))
    throw new CommandError(USAGE);
}

export async function diagnose(flags: DoctorFlags, words?: CommandWords): Promise<Check[]> {
  const { withApiServer } = await import("../fleet/live-fleet.ts");
  const { gather } = await import("./evidence.ts");
  const { examine } = await import("./doctor.ts");
  const { optionsOf } = await import("../fleet/operator-options.ts");
  const settings = await settingsFor(parseOptions({}));
  // An invalid version is refused, as by the operator.
  const toldCapi = flags.capiVersion && parseOptions({ "capi-version": flags.capiVersion }).capiVersion.text;
  const evidence = await reading(() =>
    withApiServer(flags, async (client) => await gather(client, settings)),
  );
  return examine(evidence, { ...(await settingsFor(optionsOf(evidence))), toldCapi }, words);
}

/** If these could not be read, the absence of problems proves nothing. */
const ESSENTIAL = new Set(["ExtensionConfig", "policies", "topology"]);

async function settingsFor(options: Options): Promise<Settings> {
  const { servedHooks } = await import("../../api/hook-catalog.ts");
  const { capiVersion, maxOverrideMs, webhookServiceName: serviceName } = options;
  return {
    now: new Date(),
    served: servedHooks(capiVersion.minor),
    maxOverrideMs,
    serviceName,
  };
}
