/** `hookpolicy windows`: when the windows of policies open and close. */

import { type Command, InvalidArgumentError } from "commander";
import { colourFor } from "../cli/colour.ts";
import { addExamples, choice, collect, CommandError, FAILED, USAGE, wholeNumber } from "../cli/command.ts";
import { problemLine } from "../cli/problems.ts";
import type { PolicyWindows } from "../cli/windowlist.ts";
import { UsageError } from "../manager/options.ts";
import { nearest } from "../policy/fieldmessage.ts";
import { policyName, type PolicyRef } from "../policy/policy.ts";
import { parseInstant } from "../policy/window/check.ts";

const FORMATS = ["text", "json"] as const;
const MAX_NEXT = 1000;

interface Flags {
  readonly filename?: readonly string[];
  readonly next: number;
  readonly zone?: string;
  readonly at?: Date;
  readonly output: (typeof FORMATS)[number];
  readonly color: boolean;
}

const EXAMPLES = `\
  # The next five openings of every window
  hookpolicy windows -f policies/

  # Of one policy, in another time zone, over a change of the clocks
  hookpolicy windows team-a/weekend-upgrades -f policies/ --zone America/New_York --at 2026-10-23T00:00:00Z`;

export function addWindows(program: Command): void {
  const command = program
    .command("windows")
    .argument("[policy]", "NAMESPACE/NAME or NAME; all of them by default")
    .summary("when windows open and close")
    .description(
      "Lists when the windows of policies open and close next, and what a change of the clocks does to them: an opening that is moved, shortened, lengthened or repeated is marked.",
    )
    .option(
      "-f, --filename <path>",
      "files, folders and patterns with policies; - is standard input; repeatable",
      collect,
    )
    .option("-n, --next <count>", "how many openings of each window", wholeNumber(1, MAX_NEXT), 5)
    .option("-z, --zone <zone>", "IANA time zone to print in, such as UTC; each window's own by default")
    .option("--at <time>", "from this time on, such as 2026-10-24T00:00:00Z; now by default", instant)
    .addOption(choice("-o, --output <format>", "how to print", FORMATS));
  addExamples(command, EXAMPLES);
  command.action(async (policy: string | undefined, _: unknown, self: Command) => {
    await windows(policy, self.optsWithGlobals<Flags>());
  });
}

function instant(text: string): Date {
  const ms = parseInstant(text);
  if (ms === undefined)
    throw new InvalidArgumentError("Allowed: a time with its offset such as 2026-10-24T00:00:00Z");
  return new Date(ms);
}

async function windows(wanted: string | undefined, flags: Flags): Promise<void> {
  const { filename: paths = [], zone } = flags;
  if (paths.length === 0) throw new UsageError("required option '-f, --filename <path>' not specified");
  const { zoneProblem } = await import("../policy/window/zone.ts");
  const problem = zone === undefined ? undefined : zoneProblem(zone);
  if (problem !== undefined) throw new UsageError(`--zone: ${problem}`);
  const { loadPaths } = await import("../files/load.ts");
  const { isNamed, windowsIn } = await import("../cli/windowlist.ts");
  const { objects, problems } = await loadPaths(paths);
  process.stderr.write(problems.map(problemLine).join(""));
  const all = windowsIn(objects.map(({ object }) => object));
  const isMeant = (policy: PolicyRef): boolean => wanted === undefined || isNamed(policy, wanted);
  if (wanted !== undefined && problems.length === 0 && !all.policies.some(isMeant))
    throw unknownName(wanted, all);
  await print(
    all.windows.filter(({ policy }) => isMeant(policy)),
    flags,
  );
  const invalid = all.invalid.filter(isMeant);
  for (const policy of invalid) {
    process.stderr.write(`error: ${policyName(policy)} is not valid: see 'hookpolicy validate'\n`);
  }
  if (problems.length > 0) throw new CommandError(USAGE);
  if (invalid.length > 0) throw new CommandError(FAILED);
}

async function print(found: PolicyWindows["windows"], flags: Flags): Promise<void> {
  const { next, zone, at = new Date(), output } = flags;
  const { listOpenings, windowsJson, windowsText } = await import("../cli/windowlist.ts");
  const listed = listOpenings(found, at, next);
  if (output === "json") process.stdout.write(windowsJson(listed));
  else if (listed.length === 0) process.stderr.write("no window was found\n");
  else process.stdout.write(windowsText(listed, zone, colourFor(process.stdout, flags, process.env)));
}

function unknownName(wanted: string, { policies }: PolicyWindows): UsageError {
  const names = policies.flatMap(({ namespace, name }) => [
    name,
    ...(namespace === undefined ? [] : [`${namespace}/${name}`]),
  ]);
  const meant = nearest(wanted, names);
  const hint = meant === undefined ? "" : ` (did you mean ${meant}?)`;
  return new UsageError(`no policy is named ${JSON.stringify(wanted)}${hint}`);
}
