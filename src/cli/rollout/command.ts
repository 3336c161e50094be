/** `hookpolicy rollout`: how far rollouts are, and pausing and resuming them. */

import { isDeepStrictEqual } from "node:util";
import { Argument, Command } from "commander";
import type { HookRollout } from "../../api/hook-policy.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { UsageError } from "../../lib/thrown.ts";
import {
  type CommandCall,
  choice,
  collect,
  CommandError,
  FAILED,
  type FlagsOf,
  instant,
  runs,
  USAGE,
  version,
} from "../command.ts";
import { addConnectionFlags, notServed, parseTime, reading, tellLost, viewOf } from "../fleet/connection.ts";
import { confirm, nameServer } from "../terminal/confirm.ts";
import { stderr, stdout, untilReaderIsGone } from "../terminal/output.ts";
import type { warnOfSilentRollouts } from "../fleet/operator-life.ts";
import type { RolloutView } from "./status-report.ts";

const ACTIONS = ["status", "plan", "pause", "resume"] as const;
type Action = (typeof ACTIONS)[number];
const FORMATS = ["text", "json", "svg"] as const;

const EXAMPLES = `\
  # How far every rollout is
  hookpolicy rollout status

  # One of them, and every change of it
  hookpolicy rollout status upgrades -w

  # When each stage begins and ends if every upgrade takes 40 minutes
  hookpolicy rollout plan upgrades --duration 40m

  # Keep a plan, and look later at what became of it
  hookpolicy rollout plan upgrades --duration 40m -o json > plan.json
  hookpolicy rollout status --plan plan.json

  # The same of a rollout in a file, over the Clusters of the API server
  hookpolicy rollout plan -f rollout.yaml --duration 40m --from 2026-12-01T08:00:00Z -o svg > plan.svg

  # Let no further Cluster begin; those that run end as usual
  hookpolicy rollout pause upgrades --reason "change freeze, INC-1234"

  # Continue after a pause or, once you have looked at what failed, after a halt
  hookpolicy rollout resume upgrades`;

const command = addConnectionFlags(
  new Command("rollout")
    .addArgument(new Argument("<action>", "what to do").choices(ACTIONS))
    .argument("[rollout]", "name of a HookRollout; status: all of them by default")
    .summary("how far fleet rollouts are; plan, pause and resume them")
    .description(
      "Shows the stages of HookRollouts, what runs, what failed and what begins next; computes beforehand when each stage begins and ends; pauses a rollout, or resumes one that is paused or halted. Resuming a halted rollout shows what failed and asks first.\n\nExit code: 0 done, 1 not confirmed or changed meanwhile, or a plan that cannot happen, 2 input that cannot be read or wrong usage.",
    )
    .option("-w, --watch", "status: stay, and show every change")
    .option(
      "-f, --filename <path>",
      "plan: files and folders with the rollout, as if applied; with Clusters in them, instead of the API server; repeatable",
      collect,
    )
    .option("--duration <duration>", "plan: how long each operation takes, such as 40m", parseTime)
    .option("--from <time>", "plan: from this time on, such as 2026-12-01T08:00:00Z; now by default", instant)
    .option(
      "--to-version <version>",
      "plan: as if every Cluster were asked for this version; default: what is rolled out, as it is",
      version,
    )
    .option("--plan <file>", "status: compare with this plan of upgrades, as plan -o json has printed it")
    .option("--reason <text>", "pause: why, kept in an annotation of the rollout")
    .option("-y, --yes", "resume: do not ask for confirmation")
    .addOption(choice("-o, --output <format>", "status and plan: how to print; svg: plan", FORMATS)),
);

type Flags = FlagsOf<typeof command>;
type Query = CommandCall<Flags>;

export const addRollout = runs(command, EXAMPLES, async (query, action, name) => {
  checkFlags(action, name, query.flags);
  await rollout(action, name, query);
});

function checkFlags(action: Action, name: string | undefined, flags: Flags): void {
  if (flags.output === "svg" && action !== "plan") throw new UsageError("-o svg is for plan");
  if (flags.plan !== undefined && (flags.watch === true || flags.output !== "text"))
    throw new UsageError("--plan prints text, once: leave out -w and -o");
  if (action === "plan") return checkPlan(name, flags);
  if (action !== "status" && name === undefined) throw new UsageError(`${action}: name the rollout`);
  if (action === "pause" && (flags.reason ?? "").trim() === "")
    throw new UsageError("pause: say why with --reason, for those who find it paused");
}

function checkPlan(name: string | undefined, { filename, duration }: Flags): void {
  if (duration === undefined)
    throw new UsageError("plan: say how long an operation takes with --duration, such as 40m");
  if (name === undefined && filename === undefined)
    throw new UsageError(
      "plan: name the rollout, or give its file with -f; without a cluster, add Clusters with -f",
    );
}

async function rollout(action: Action, name: string | undefined, query: Query): Promise<void> {
  const { flags } = query;
  if (action === "plan") return await plan(name, query);
  const { withApiServer } = await import("../fleet/live-fleet.ts");
  await reading(() =>
    withApiServer(flags, async (client, server) => {
      if (action === "status") return await printStatus(client, name, query);
      const found = await find(client, name ?? "");
      if (action === "resume") return await resume({ client, server }, found, query);
      nameServer(server);
      const { effectOfPause, pauseRollout } = await import("./change.ts");
      await pauseRollout(client, found, flags.reason ?? "");
      stdout.line(`paused HookRollout ${found.metadata.name}: ${effectOfPause(found)}`);
    }),
  );
}

async function resume(
  { client, server }: { readonly client: KubeClient; readonly server: string },
  found: HookRollout,
  query: Query,
): Promise<void> {
  const { isHalted, resumeRollout, resumption } = await import("./change.ts");
  const { rolloutLines } = await import("./status-report.ts");
  const changes = resumption(found);
  if (changes.length === 0) {
    stdout.line(`HookRollout ${found.metadata.name} is neither paused nor halted`);
    return;
  }
  if (isHalted(found)) stderr.lines([...rolloutLines([found], viewFor(query)), ...changes]);
  // A pause is taken back without a question.
  await confirm("Resume this rollout?", { yes: query.flags.yes === true || !isHalted(found), server });
  await resumeRollout(client, found);
  stdout.line(`resumed HookRollout ${found.metadata.name}`);
}

/** `undefined`: the API server does not serve HookRollouts. */
async function listIfServed(client: KubeClient): Promise<readonly HookRollout[] | undefined> {
  const { unlessNotFound } = await import("../../kube/kube-error.ts");
  const { ROLLOUTS } = await import("../../kube/resources.ts");
  const { viewRollout } = await import("../fleet/kinds.ts");
  const found = await unlessNotFound(client.list(ROLLOUTS));
  return found?.items.map((raw) => viewRollout({ ...raw }));
}

async function find(client: KubeClient, name: string): Promise<HookRollout> {
  const all = await listIfServed(client);
  if (all === undefined) throw notServed("HookRollouts");
  const found = all.find(({ metadata }) => metadata.name === name);
  if (found !== undefined) return found;
  const { noRollout } = await import("./read-planned.ts");
  throw noRollout(name, all);
}

async function printStatus(client: KubeClient, name: string | undefined, query: Query): Promise<void> {
  const { flags, program } = query;
  const words = viewOf(flags, program);
  if (flags.plan !== undefined) return await compare(client, name, query, flags.plan);
  const { warnIfUncalled } = await import("./uncalled.ts");
  const rollouts = name === undefined ? ((await listIfServed(client)) ?? []) : [await find(client, name)];
  const show = await printer(query);
  show(rollouts);
  if (rollouts.length === 0) stderr.line("there is no HookRollout");
  else await warnOfSilence(client, rollouts, words);
  if (rollouts.length > 0) await warnIfUncalled(client, rollouts, words);
  if (flags.watch === true) await keepPrinting(client, name, show);
}

async function warnOfSilence(...args: Parameters<typeof warnOfSilentRollouts>): Promise<void> {
  const life = await import("../fleet/operator-life.ts");
  await life.warnOfSilentRollouts(...args);
}

type Printer = (rollouts: readonly HookRollout[]) => void;

/** A terminal that watches is redrawn, without the warning below; any other output gets the whole status after each change. */
async function printer(query: Query): Promise<Printer> {
  const { flags } = query;
  const { rolloutLines } = await import("./status-report.ts");
  let last: readonly HookRollout[] | undefined;
  return (rollouts) => {
    if (isDeepStrictEqual(rollouts, last)) return;
    last = rollouts;
    if (flags.output === "json") return stdout.json(rollouts);
    const lines = rolloutLines(rollouts, viewFor(query));
    if (flags.watch !== true) stdout.lines(lines);
    else if (process.stdout.isTTY) stdout.screen(lines);
    else stdout.lines([...lines, ""]);
  };
}

async function compare(
  client: KubeClient,
  name: string | undefined,
  query: Query,
  file: string,
): Promise<void> {
  const { againstPlan, readPlan } = await import("./against-plan.ts");
  const { rolloutLines } = await import("./status-report.ts");
  const earlier = await readPlan(file);
  if (name !== undefined && name !== earlier.rollout)
    throw new CommandError(USAGE, `${file}: is a plan of HookRollout ${earlier.rollout}`);
  const found = await find(client, earlier.rollout);
  const { operation } = found.spec;
  if (operation !== "Upgrade")
    throw new CommandError(
      USAGE,
      `${file}: HookRollout ${earlier.rollout} has the operation ${operation}: its status does not say which Clusters of the plan are done`,
    );
  const view = viewFor(query);
  await warnOfSilence(client, [found], view);
  stdout.lines([...rolloutLines([found], view), "", ...againstPlan(found, earlier, view)]);
}

function viewFor({ flags, program }: Query): RolloutView {
  return { now: new Date(), ...viewOf(flags, program) };
}

async function keepPrinting(client: KubeClient, name: string | undefined, show: Printer): Promise<void> {
  const { follow } = await import("../fleet/follow.ts");
  const { ROLLOUTS } = await import("../../kube/resources.ts");
  const { viewRollout } = await import("../fleet/kinds.ts");
  const onObjects = (objects: readonly KubeObject[]): void =>
    show(objects.map((each) => viewRollout({ ...each })));
  const scope = { resource: ROLLOUTS, ...(name !== undefined && { name }) };
  await follow(client, scope, { onObjects, onLost: tellLost }, untilReaderIsGone());
}

async function plan(name: string | undefined, { flags, program }: Query): Promise<void> {
  const { readPlanned } = await import("./read-planned.ts");
  const { canHappen, planFleet } = await import("./fleet-plan.ts");
  const { planJson, planLines, planSvg } = await import("./plan-report.ts");
  const { duration: durationMs = 0, from = new Date(), toVersion, filename = [], output } = flags;
  const view = viewOf(flags, program);
  const { rollout: object, fleet } = await reading(() => readPlanned(name, filename, flags, view));
  const planned = planFleet(object, fleet, { from, durationMs, version: toVersion });
  if (output === "json") stdout.json(planJson(planned));
  else if (output === "svg") {
    stderr.lines([...planned.impossible, ...planned.doubts].map((text) => `warning: ${text}`));
    stdout.document(planSvg(planned));
  } else stdout.lines(planLines(planned, durationMs, view));
  if (!canHappen(planned)) throw new CommandError(FAILED);
}
