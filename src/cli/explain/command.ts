/** `hookpolicy explain`: why a Cluster is held or may proceed, and how to release it. */

import { Command, Option } from "commander";
import { choice, collect, type FlagsOf, hookOption, instant, INSTANTS, runs, version } from "../command.ts";
import { OPERATIONS } from "../../operations/beginnings.ts";
import type { ExplainWish, Explanation } from "./explanation.ts";
import { type Options, parseOptions } from "../../operator/options.ts";
import { UsageError } from "../../lib/thrown.ts";
import { addConnectionFlags, reading, viewOf } from "../fleet/connection.ts";
import { addClusterArgument, inNamespace } from "../fleet/cluster-argument.ts";
import { clusterIn, type ClusterName, fleetOf } from "../fleet/live-cluster.ts";
import { readAllObjects } from "../fleet/object-files.ts";
import { shellQuote } from "../../lib/shell-quote.ts";
import { stderr, stdout } from "../terminal/output.ts";

const FORMATS = ["text", "json"] as const;

const EXAMPLES = `\
  # It is 3 a.m. and a Cluster is stuck: what holds it, and how to release it?
  hookpolicy explain team-a/prod-1

  # May it be deleted? Would it be upgraded at Christmas?
  hookpolicy explain team-a/prod-1 --hook BeforeClusterDelete
  hookpolicy explain team-a/prod-1 --hook BeforeClusterUpgrade --to-version v1.36.0 --at 2026-12-24T18:00:00Z

  # Would the API server refuse kubectl delete, or an upgrade?
  hookpolicy explain team-a/prod-1 --admission Delete
  hookpolicy explain team-a/prod-1 --admission Upgrade --to-version v1.36.0

  # Without a cluster: policies, Clusters and other objects from files
  hookpolicy explain team-a/prod-1 --hook BeforeClusterDelete -f policies/ -f fleet.json`;

const command = addConnectionFlags(
  addClusterArgument(new Command("explain"))
    .summary("explain why a Cluster is held and how to release it")
    .description(
      "Explains what every policy, rule and gate says about an operation of a Cluster, and how to release it. Without --hook: the operations that wait now. Nothing is written anywhere.\n\nExit code: 0 explained, held or not; 2 input that cannot be read or wrong usage.",
    )
    .addOption(hookOption("as if Cluster API called this hook"))
    .addOption(
      new Option(
        "--admission <request>",
        "what the API server would answer to this request, because of rules with admission",
      )
        .choices(OPERATIONS)
        .conflicts("hook"),
    )
    .option("--all", "show each policy that does not match the Cluster, and why")
    .option("--at <time>", `as if it were this time: ${INSTANTS}; default: now`, instant)
    .option(
      "-f, --filename <path>",
      "files, folders and patterns instead of the API server; - is standard input; repeatable",
      collect,
    )
    .option(
      "--to-version <version>",
      "the version of an upgrade; default: what the Cluster shows, else what its topology wants",
      version,
    )
    .option(
      "--from-version <version>",
      "the version that an upgrade comes from, for expressions that read it; default: what the Cluster shows",
      version,
    )
    .option(
      "--capi-version <version>",
      "Cluster API version that calls, such as 1.12; default: what the operator is told",
    )
    .addOption(choice("-o, --output <format>", "how to print", FORMATS)),
);

type Flags = FlagsOf<typeof command>;

export const addExplain = runs(command, EXAMPLES, async ({ flags, program }, given) => {
  await explainCluster(await inNamespace(given, flags), flags, program);
});

async function explainCluster(name: ClusterName, flags: Flags, program: string): Promise<void> {
  const options = parseOptions({ "capi-version": flags.capiVersion });
  if (flags.toVersion !== undefined && flags.hook === undefined && flags.admission === undefined)
    throw new UsageError("--to-version needs --hook or --admission");
  if (flags.admission === "Upgrade" && flags.toVersion === undefined)
    throw new UsageError("--admission Upgrade needs --to-version");
  const explanation =
    flags.filename === undefined ? await explainLive(name, flags) : await explainFiles(name, flags, options);
  if (flags.output === "json") {
    const { explanationJson } = await import("./explanation-json.ts");
    stdout.json(explanationJson(explanation));
    return;
  }
  const { explanationLines } = await import("./report.ts");
  const lines = explanationLines(explanation, {
    ...viewOf(flags, program),
    all: flags.all === true,
    files: (flags.filename ?? []).map((path) => ` -f ${shellQuote(path)}`).join(""),
    chosen: flags.at !== undefined,
    requested: flags.admission !== undefined,
  });
  stdout.lines(lines);
}

async function checkHook({ hook }: Flags, { capiVersion }: Options): Promise<void> {
  const { servedHooks } = await import("../../api/hook-catalog.ts");
  if (hook !== undefined && !servedHooks(capiVersion.minor).advertised.has(hook)) {
    throw new UsageError(`Cluster API ${capiVersion.text} does not call ${hook} (--capi-version)`);
  }
}

async function explainFiles(name: ClusterName, flags: Flags, options: Options): Promise<Explanation> {
  const { filename = [], at } = flags;
  await checkHook(flags, options);
  const { explain } = await import("./explanation.ts");
  const sources = await readAllObjects(filename);
  // Files describe the Cluster at the time of --at.
  const now = at ?? new Date();
  const objects = sources.map(({ object }) => object);
  const fleet = await fleetOf(objects, { now, options });
  const cluster = clusterIn(fleet, name, " in the files");
  const { idleOverrides } = await import("../fleet/idle-overrides.ts");
  stderr.lines(idleOverrides(objects, name, { now, ...options }).map((line) => `warning: ${line}`));
  return explain(fleet, { ...wishOf(flags), cluster, now, unread: [], live: false });
}

function wishOf({ hook, admission: request, at, toVersion, fromVersion }: Flags): ExplainWish {
  return { hook, request, at, toVersion, fromVersion };
}

async function explainLive(name: ClusterName, flags: Flags): Promise<Explanation> {
  const { withApiServer } = await import("../fleet/live-fleet.ts");
  const { explain } = await import("./explanation.ts");
  const { readExplainable } = await import("./live-explanation.ts");
  const { operatorOptions } = await import("../fleet/operator-options.ts");
  const read = await reading(() =>
    withApiServer(flags, async (client) => {
      const found = await operatorOptions(client, flags.capiVersion);
      await checkHook(flags, found.options);
      return await readExplainable(client, name, { wish: wishOf(flags), ...found });
    }),
  );
  return explain(read.fleet, read.options);
}
