/** `hookpolicy windows`: shows when the windows of policies open and close. */

import { Command, Option } from "commander";
import { colourFor } from "../terminal/colour.ts";
import {
  choice,
  collect,
  CommandError,
  FAILED,
  type FlagsOf,
  instant,
  meantText,
  runs,
  wholeNumber,
} from "../command.ts";
import type { WindowHolder } from "./window-list.ts";
import { UsageError } from "../../lib/thrown.ts";
import { nearest } from "../../lib/did-you-mean.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { addConnectionFlags, reading, viewOf } from "../fleet/connection.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { readAllObjects } from "../fleet/object-files.ts";
import { stderr, stdout } from "../terminal/output.ts";
import { advice, adviceText, run } from "../terminal/printed-command.ts";

const FORMATS = ["text", "json"] as const;
const MAX_NEXT = 1000;

const EXAMPLES = `\
  # The next five openings of every window of the cluster that kubectl talks to
  hookpolicy windows -A

  # The next opening of one policy's
  hookpolicy windows team-a/protect-production --next 1

  # Of one policy, in another time zone, over a change of the clocks
  hookpolicy windows team-a/protect-production -f policies/ --zone America/New_York --at 2026-10-23T00:00:00Z`;

const command = addConnectionFlags(
  new Command("windows")
    .argument(
      "[policy]",
      "NAMESPACE/NAME of a HookPolicy, or NAME of any policy or HookRollout; all of them by default",
    )
    .summary("when windows open and close")
    .description(
      "Lists when the windows of policies and of the stages of HookRollouts open and close next, and what a change of the clocks does to them: an opening that is moved, shortened, lengthened or repeated is marked.\n\nExit code: 0 listed, 1 policies that are not valid, 2 input that cannot be read or wrong usage.",
    )
    .option(
      "-f, --filename <path>",
      "files, folders and patterns instead of the API server; - is standard input; repeatable",
      collect,
    )
    .option("--next <count>", "how many openings of each window", wholeNumber(1, MAX_NEXT), 5)
    .option("-z, --zone <zone>", "IANA time zone to print in, such as UTC; each window's own by default")
    .option("--at <time>", "from this time on, such as 2026-10-24T00:00:00Z; now by default", instant)
    .option("-n, --namespace <name>", "of the policies; default: that of the kubeconfig's context")
    .addOption(
      new Option(
        "-A, --all-namespaces",
        "HookPolicies of all namespaces; without it those of one, and always ClusterHookPolicies and HookRollouts",
      ).conflicts("namespace"),
    )
    .addOption(choice("-o, --output <format>", "how to print", FORMATS)),
);

type Flags = FlagsOf<typeof command>;

export const addWindows = runs(command, EXAMPLES, async ({ flags, program }, policy) => {
  await windows(policy, flags, program);
});

async function windows(wanted: string | undefined, flags: Flags, program: string): Promise<void> {
  const { zone } = flags;
  const { zoneProblem } = await import("../../policy/window/zone.ts");
  const problem = zone === undefined ? undefined : zoneProblem(zone);
  if (problem !== undefined) throw new UsageError(`--zone: ${problem}`);
  checkFlags(wanted, flags);
  const { namesOfHolder, windowsIn } = await import("./window-list.ts");
  const { objects, place }: WindowObjects = await (flags.filename === undefined
    ? readLive(wanted, flags)
    : readAllObjects(flags.filename).then((all) => ({ objects: all.map(({ object }) => object) })));
  const all = windowsIn(objects);
  const meant = all.filter(({ policy }) => wanted === undefined || namesOfHolder(policy).includes(wanted));
  if (wanted !== undefined && meant.length === 0)
    throw unknownName(
      wanted,
      nearest(
        wanted,
        all.flatMap(({ policy }) => namesOfHolder(policy)),
      ),
      place,
    );
  await print(meant, flags, place);
  const invalid = meant.filter((each) => each.windows === undefined);
  const see = adviceText(advice`see '${run("hookpolicy validate")}'`, viewOf(flags, program));
  for (const { policy } of invalid) {
    stderr.line(`error: ${policyName(policy)} is not valid: ${see}`);
  }
  if (invalid.length > 0) throw new CommandError(FAILED);
}

function checkFlags(wanted: string | undefined, flags: Flags): void {
  const { filename, namespace, allNamespaces, kubeconfig, context } = flags;
  const live = namespace ?? allNamespaces ?? kubeconfig ?? context;
  if (filename !== undefined && live !== undefined)
    throw new UsageError(
      "-n, -A, --kubeconfig and --context are for the API server, and -f is instead of it",
    );
  // A file in the place of a name is told before an API server is looked for.
  if (filename === undefined && /(?:\.ya?ml|\.json|\/)$/.test(wanted ?? ""))
    throw unknownName(wanted, `-f ${wanted}`);
}

interface WindowObjects {
  readonly objects: readonly RawObject[];
  /** The only namespace whose HookPolicies were read. */
  readonly place?: string;
}

async function readLive(wanted: string | undefined, flags: Flags): Promise<WindowObjects> {
  const { contextNamespace, withApiServer } = await import("../fleet/live-fleet.ts");
  const { readHolders } = await import("../get/holders.ts");
  const [named] = wanted?.includes("/") === true ? wanted.split("/") : [];
  const { place, held } = await reading(() =>
    withApiServer(flags, async (client) => {
      const namespace = named ?? flags.namespace ?? contextNamespace(flags);
      const only = flags.allNamespaces === true ? undefined : namespace;
      return { place: only, held: await readHolders(client, only) };
    }),
  );
  stderr.lines(held.unread.map((text) => `warning: ${text}`));
  return { objects: held.objects, ...(place !== undefined && { place }) };
}

/** Where a HookPolicy can be that was not read. */
function elsewhere(place: string | undefined): string {
  return place === undefined ? "" : ` in namespace ${place}; -A looks in all of them`;
}

async function print(found: readonly WindowHolder[], flags: Flags, place: string | undefined): Promise<void> {
  const { next, zone, at = new Date(), output } = flags;
  const { listOpenings, windowsJson, windowsLines } = await import("./window-list.ts");
  const listed = listOpenings(
    found.flatMap((each) => each.windows ?? []),
    at,
    next,
  );
  if (output === "json") stdout.json(windowsJson(listed));
  else if (listed.length === 0) stderr.line(`no window was found${elsewhere(place)}`);
  else stdout.lines(windowsLines(listed, zone, colourFor(process.stdout, flags)));
}

function unknownName(wanted: string | undefined, meant: string | undefined, place?: string): UsageError {
  return new UsageError(
    `no policy is named ${JSON.stringify(wanted)}${meantText(meant) || elsewhere(place)}`,
  );
}
