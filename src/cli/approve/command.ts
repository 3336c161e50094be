/** `hookpolicy approve`: releases a Cluster that waits for an approval. */

import { Command, Option } from "commander";
import type { HookName } from "../../api/runtime-hooks.ts";
import type { ApprovalPlan } from "./approval.ts";
import type { ApprovalOutcome } from "./report.ts";
import { choice, collect, CommandError, FAILED, type FlagsOf, hookOption, runs } from "../command.ts";
import { clusterKey } from "../../views/cluster.ts";
import { confirm } from "../terminal/confirm.ts";
import { addConnectionFlags, connectionWords, parseTime, reading } from "../fleet/connection.ts";
import { addClusterArgument, inNamespace } from "../fleet/cluster-argument.ts";
import type { ClusterName, LiveCluster } from "../fleet/live-cluster.ts";
import { terminalOf } from "../terminal/terminal.ts";
import { stderr, stdout } from "../terminal/output.ts";

const FORMATS = ["text", "json"] as const;

const EXAMPLES = `\
  # What would release it?
  hookpolicy approve team-a/prod-1 --dry-run

  # Confirm the deletion, and stay until it has begun
  hookpolicy approve team-a/prod-1 --hook BeforeClusterDelete

  # In a script
  hookpolicy approve team-a/prod-1 --yes --no-wait

  # Approve for a whole namespace, too
  hookpolicy approve team-a/prod-1 --namespace-mark example.com/approved=true`;

const command = addConnectionFlags(
  addClusterArgument(new Command("approve"))
    .summary("release a Cluster that waits for approval")
    .description(
      "Sets the annotations and labels that the gates of a held Cluster wait for, and waits until it proceeds. Gates of other kinds are listed with the time at which they open.\n\nExit code: 0 it proceeds, 1 something still holds it, 2 input that cannot be read or wrong usage. With --dry-run and --no-wait, 0 also if it is not seen to proceed.",
    )
    .addOption(hookOption("only what this hook holds, also before Cluster API asks; default: what is held"))
    .option("--dry-run", "only show what would be set; reads the API server, and changes nothing")
    .option("--no-wait", "do not wait until the Cluster proceeds")
    .addOption(
      new Option("--timeout <duration>", "how long to wait")
        .argParser(parseTime)
        .default(parseTime("10m"), "10m"),
    )
    .addOption(
      new Option(
        "--namespace-mark <key=value>",
        "an annotation or a label of the Namespace that may be set, too: repeat it for several",
      )
        .argParser(collect)
        .default([], "none"),
    )
    .option(
      "-y, --yes",
      "do not ask for confirmation: sets marks of the Cluster, and those of --namespace-mark",
    )
    .addOption(choice("-o, --output <format>", "how to print", FORMATS)),
);

type Flags = FlagsOf<typeof command>;

export const addApprove = runs(command, EXAMPLES, async ({ flags }, given) => {
  await approve(await inNamespace(given, flags), flags);
});

async function approve(name: ClusterName, flags: Flags): Promise<void> {
  const { withLiveCluster } = await import("../fleet/live-fleet.ts");
  await withLiveCluster(flags, name, async (live) => {
    const plan = await planFor(live, flags);
    const done = await carryOut(plan, live, flags);
    if (flags.output === "json") {
      const { approvalJson } = await import("./report.ts");
      stdout.json(approvalJson(plan, done.outcome));
    }
    if (done.problem !== undefined) throw new CommandError(FAILED, done.problem);
  });
}

interface LivePlan extends ApprovalPlan {
  /** False if policies or rollouts that the user may not read are missing; they can hold the Cluster. */
  readonly isWhole: boolean;
}

async function planFor(
  { client, look }: LiveCluster,
  { hook, namespaceMark, yes, dryRun }: Flags,
): Promise<LivePlan> {
  const { planApproval } = await import("./approval.ts");
  const { readersFor } = await import("./readers.ts");
  const looked = await look();
  const { fleet, cluster, now, isWhole } = looked;
  const unattended = yes === true && dryRun !== true;
  const readers = await reading(async () => await readersFor(client, looked));
  const approving = { hook, namespaceMarks: namespaceMark, unattended, readers };
  return { ...planApproval(fleet, cluster, approving, now), isWhole };
}

/** `problem`: why the Cluster is still held. */
async function carryOut(
  plan: LivePlan,
  live: LiveCluster,
  flags: Flags,
): Promise<{ readonly outcome: ApprovalOutcome; readonly problem?: string }> {
  const { markCommand, clusterTitle, approvalLines } = await import("./report.ts");
  const say = (...lines: readonly string[]): void => {
    (flags.output === "json" ? stderr : stdout).lines(lines);
  };
  const nothing: ApprovalOutcome = { dryRun: flags.dryRun === true, approved: false, ended: [] };
  const notes = [plan.notCalled, plan.omitted].filter((note) => note !== undefined);
  stderr.lines(notes.map((note) => `note: ${note}`));
  if (plan.operations.length === 0) {
    say(notHeld(plan, flags.hook));
    return { outcome: nothing };
  }
  const terminal = terminalOf(process.stdout, flags);
  const show = (shown: LivePlan): string[] => approvalLines(shown, { now: new Date(), ...terminal });
  if (flags.output === "text") say(...show(plan));
  if (plan.marks.length === 0) return { outcome: nothing, problem: "no unmet gate can be approved" };
  if (flags.dryRun === true) {
    const commands = plan.marks.map((mark) => `  ${markCommand(mark, plan)}${connectionWords(flags)}`);
    say("nothing was changed; by hand:", ...commands);
    return { outcome: nothing };
  }
  await confirm(`Approve this for ${clusterTitle(plan.cluster)}?`, {
    yes: flags.yes === true,
    server: live.server,
  });
  const { setMarks, writeMarks } = await import("./write-marks.ts");
  await writeMarks(plan, {
    look: async () => await planFor(live, flags),
    set: async (...mark) => await setMarks(live.client, ...mark),
    say,
  });
  const approved = { ...nothing, approved: true };
  if (!flags.wait) return { outcome: approved };
  if (plan.notCalled !== undefined) return { outcome: approved, problem: `approved, but ${plan.notCalled}` };
  const { waitForEnd } = await import("./wait-for-end.ts");
  const { ended, problem } = await waitForEnd(plan, live, { timeoutMs: flags.timeout, say });
  if (problem === undefined) return { outcome: { ...approved, ended } };
  if (flags.output === "text") say("", ...show(await planFor(live, flags)));
  return { outcome: { ...approved, ended }, problem };
}

function notHeld({ cluster, isWhole, omitted }: LivePlan, hook: HookName | undefined): string {
  const isKnown = isWhole && omitted === undefined;
  const at = hook === undefined ? "" : ` at ${hook}`;
  return `Cluster ${clusterKey(cluster)} is not ${isKnown ? "" : "known to be "}held${at}`;
}
