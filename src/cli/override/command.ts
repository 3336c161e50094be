/** `hookpolicy override`: break-glass for one Cluster, for some hooks and hours. */

import { Command, InvalidArgumentError } from "commander";
import type { Condition } from "../../api/meta.ts";
import { durationText } from "../../lib/duration.ts";
import {
  choice,
  collecting,
  CommandError,
  FAILED,
  type FlagsOf,
  hookName,
  hookOption,
  oneOf,
  runs,
} from "../command.ts";
import type { NewOverride, OverridePlan, OverrideWish } from "./new-override.ts";
import { UsageError } from "../../lib/thrown.ts";
import { confirm } from "../terminal/confirm.ts";
import { addConnectionFlags, parseTime, viewOf } from "../fleet/connection.ts";
import { addClusterArgument, inNamespace } from "../fleet/cluster-argument.ts";
import type { ClusterName, ClusterReading, LiveCluster } from "../fleet/live-cluster.ts";
import { type CommandWords, typed } from "../terminal/printed-command.ts";
import { terminalOf } from "../terminal/terminal.ts";
import { stderr, stdout } from "../terminal/output.ts";

const FORMATS = ["text", "json"] as const;

const EXAMPLES = `\
  # It must go now: shows what that lifts, and asks
  hookpolicy override team-a/prod-1 --hook BeforeClusterDelete --reason "INC-4711, leaks data" --for 1h

  # Only one policy, as a commit for GitOps
  hookpolicy override team-a/prod-1 --hook BeforeClusterUpgrade --policy ClusterHookPolicy/freeze \\
    --reason "CVE-2026-1234" --for 4h --dry-run > overrides/prod-1.yaml`;

const command = addConnectionFlags(
  addClusterArgument(new Command("override"))
    .summary("release a Cluster whatever its policies say")
    .description(
      "Creates a HookOverride: while it is in force, policies and HookRollouts do not hold the Cluster at these hooks. It ends by itself, and stays as a record.\n\nExit code: 0 in force, 1 not created or without effect, 2 input that cannot be read or wrong usage.",
    )
    .addOption(hookOption("the hook; repeatable").argParser(collecting(hookName)).makeOptionMandatory())
    .requiredOption("--reason <text>", "why, for those who look into it later", reason)
    .requiredOption(
      "--for <duration>",
      "how long, such as 1h30m; at most the operator's --max-override-duration",
      parseTime,
    )
    .option(
      "--policy <name>",
      "only this policy or HookRollout, as NAME or KIND/NAME; repeatable; default: all",
      collecting(holder),
    )
    .option("--dry-run", "only print the HookOverride; reads the API server, and changes nothing")
    .option("-y, --yes", "do not ask for confirmation")
    .addOption(choice("-o, --output <format>", "how to print", FORMATS)),
);

type Flags = FlagsOf<typeof command>;

export const addOverride = runs(command, EXAMPLES, async ({ flags, program }, given) => {
  await override(await inNamespace(given, flags), flags, program);
});

const HOLDER_KINDS = ["HookPolicy", "ClusterHookPolicy", "HookRollout"] as const;

function holder(text: string): string {
  const [, kind, name] = /^(?:(.*)\/)?(.*)$/.exec(text) ?? [];
  if (kind !== undefined) oneOf(HOLDER_KINDS)(kind);
  if (name !== "") return text;
  throw new InvalidArgumentError("Allowed: NAME or KIND/NAME, such as ClusterHookPolicy/freeze");
}

function reason(text: string): string {
  if (text.trim() !== "") return text;
  throw new InvalidArgumentError("Allowed: a text that explains it later, such as the number of an incident");
}

async function override(name: ClusterName, flags: Flags, program: string): Promise<void> {
  const hooks = [...new Set(flags.hook)];
  const { findHolder, liftedBy, newOverride, overrideProblems } = await import("./new-override.ts");
  const given = { hooks, reason: flags.reason, forMs: flags.for };
  // What the API server would refuse, before it is asked; only the uid is not known.
  refuse(overrideProblems(newOverride({ metadata: { ...name, uid: "unknown" } }, given, new Date())));
  const { withLiveCluster } = await import("../fleet/live-fleet.ts");
  await withLiveCluster(flags, name, async (live) => {
    checkLength(flags.for, live);
    const first = await live.look();
    const { fleet, cluster } = first;
    const { whyNotCalled } = await import("../fleet/caveats.ts");
    const called = whyNotCalled(cluster);
    if (called !== undefined) stderr.line(`note: ${called}`);
    const wish: OverrideWish = {
      ...given,
      policies: flags.policy?.map((policy) => findHolder(fleet, cluster, policy, hooks)),
    };
    const planFor = (seen: ClusterReading): OverridePlan => ({
      made: newOverride(seen.cluster, wish, seen.now),
      lifted: liftedBy(seen.fleet, seen.cluster, wish, seen.now),
    });
    const shown = planFor(first);
    refuse(overrideProblems(shown.made));
    await create(shown, { live, flags, program, look: async () => planFor(await live.look()) });
  });
}

function checkLength(forMs: number, { maxOverrideMs, assumed }: LiveCluster): void {
  if (forMs <= maxOverrideMs) return;
  const longest = durationText(maxOverrideMs);
  if (!assumed)
    throw new UsageError(
      `A HookOverride of more than ${longest} has no effect (--max-override-duration of the operator)`,
    );
  stderr.line(
    `warning: you may not list deployments.apps: whether the operator accepts more than ${longest} (--max-override-duration) is not known`,
  );
}

function refuse([problem]: readonly string[]): void {
  if (problem !== undefined) throw new UsageError(problem);
}

interface Creation {
  readonly live: LiveCluster;
  readonly flags: Flags;
  readonly program: string;
  /** Reads the present state, and plans again. */
  readonly look: () => Promise<OverridePlan>;
}

async function create(shown: OverridePlan, { live, flags, program, look }: Creation): Promise<void> {
  const { liftedLines, overrideJson } = await import("./report.ts");
  stderr.lines(liftedLines(shown.made, shown.lifted, terminalOf(process.stderr, flags)));
  const dryRun = flags.dryRun === true;
  if (dryRun && flags.output === "text") {
    const { yamlText } = await import("../terminal/yaml-text.ts");
    stdout.document(yamlText(shown.made));
    return;
  }
  let active: Condition | undefined;
  let { made, lifted } = shown;
  if (!dryRun) {
    const yes = flags.yes === true;
    await confirm("Create this HookOverride?", { yes, server: live.server });
    const { createOverride } = await import("./new-override.ts");
    // The prompt can stay open for hours.
    if (!yes) ({ made, lifted } = await agreed(shown, look));
    active = await createOverride(live.client, made);
  }
  const inForce = active?.status === "True";
  if (flags.output === "json") stdout.json(overrideJson(made, lifted, { dryRun, inForce }));
  else
    stdout.line(
      `created HookOverride ${made.metadata.name}: ${stateOf(active, made, viewOf(flags, program))}`,
    );
  if (!dryRun && !inForce) throw new CommandError(FAILED, "it is not known to be in force");
}

async function agreed(shown: OverridePlan, look: Creation["look"]): Promise<OverridePlan> {
  const { releasesNoMore } = await import("./new-override.ts");
  const present = await look();
  if (releasesNoMore(present, shown)) return present;
  const what = "the Cluster, or what the override would lift, has changed meanwhile";
  throw new CommandError(FAILED, `${what}, and nothing was created: look at it again`);
}

function stateOf(
  active: Condition | undefined,
  { spec, metadata }: NewOverride,
  words: CommandWords,
): string {
  if (active?.status === "True") return `in force until ${spec.expiresAt}`;
  if (active !== undefined) return `without effect: ${active.message}`;
  return `the operator has not answered; see '${typed(`kubectl get hookoverride ${metadata.name}`, words)}'`;
}
