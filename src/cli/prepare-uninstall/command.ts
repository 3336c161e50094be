/** `hookpolicy prepare-uninstall`: all steps that must precede the removal of the operator. */

import { Command, Option } from "commander";
import type { KubeClient } from "../../kube/kube-client.ts";
import { MANY_SHOWN } from "../../lib/first-names.ts";
import { shellQuote } from "../../lib/shell-quote.ts";
import { type CommandCall, CommandError, FAILED, type FlagsOf, runs } from "../command.ts";
import type { UninstallPlan, UninstallStep } from "./uninstall-plan.ts";
import { confirm, nameServer } from "../terminal/confirm.ts";
import { addConnectionFlags, parseTime, viewOf } from "../fleet/connection.ts";
import { stderr, stdout } from "../terminal/output.ts";
import { type CommandWords, typed } from "../terminal/printed-command.ts";

const EXAMPLES = `\
  # What would happen?
  hookpolicy prepare-uninstall --dry-run

  # From a script, before the manifests are deleted; fails while one is held
  hookpolicy prepare-uninstall --yes && kubectl delete --ignore-not-found -k .`;

const command = addConnectionFlags(
  new Command("prepare-uninstall")
    .summary("prepare the removal of the operator")
    .description(
      "Unregisters the operator from Cluster API, which releases every held Cluster, so that with --yes it wants another flag while there is one; removes its webhooks; stops it; removes its finalizer from policies; and says in the statuses of policies, rollouts and overrides that it is gone. These and the CRDs stay. Everything comes back when the operator is installed again.\n\nExit code: 0 done, 1 failed or not confirmed, 2 no kubeconfig or wrong usage. What is done already is skipped.",
    )
    .option("-n, --namespace <name>", "where the operator runs", "hookpolicy-system")
    .addOption(
      new Option("--timeout <duration>", "how long its Pods may take to stop")
        .argParser(parseTime)
        .default(parseTime("2m"), "2m"),
    )
    .option("--dry-run", "only print what would be done; reads the API server, and changes nothing")
    .option("-y, --yes", "do not ask")
    .option(
      "--release-held-clusters",
      "with --yes: also if Clusters are held, or it is not known whether any is",
    )
    .option(
      "--while-helm-uninstalls <record>",
      "change something only while this record of Helm in the namespace says so, such as sh.helm.release.v1.hookpolicy.v1; for the chart's Job",
    ),
);

type Flags = FlagsOf<typeof command>;

export const addPrepareUninstall = runs(command, EXAMPLES, prepareUninstall);

async function prepareUninstall({ flags, program }: CommandCall<Flags>): Promise<void> {
  const words = viewOf(flags, program);
  const { namespace, timeout: timeoutMs } = flags;
  const { withApiServer } = await import("../fleet/live-fleet.ts");
  const { planUninstall } = await import("./uninstall-plan.ts");
  await withApiServer(flags, async (client, server) => {
    const plan = await planUninstall(client, { namespace, timeoutMs });
    if (plan.steps.length === 0) return stdout.line("nothing to do");
    const dryRun = flags.dryRun === true;
    if (dryRun || flags.yes !== true) stdout.lines(plan.steps.map(({ does }) => `would ${does}`));
    stderr.lines(heldLines(plan, words));
    if (dryRun) return nameServer(server);
    await checkHelm(client, flags, words);
    checkHeld(plan, flags, words);
    await confirm(plan.held.length > 0 ? "Release what is held, and do it?" : "Do it?", {
      yes: flags.yes === true,
      server,
    });
    if (flags.releaseHeldClusters === true) return await carryOut(plan);
    // A question can wait for hours, and what is held since then was not agreed to.
    const present = await planUninstall(client, { namespace, timeoutMs });
    await checkAgreed(plan, present, words);
    await carryOut(present);
  });
}

function heldLines({ held }: UninstallPlan, words: CommandWords): string[] {
  if (held.length === 0) return [];
  const all = typed("hookpolicy get -A", words);
  const more = held.length > MANY_SHOWN ? [`and ${held.length - MANY_SHOWN} more: ${all}`] : [];
  return [
    "warning: these are held now, and would be released:",
    ...[...held.slice(0, MANY_SHOWN).map(({ text }) => text), ...more].map((line) => `  ${line}`),
  ];
}

/** What merely creates the chart's Job, such as `helm template | kubectl apply`, uninstalls nothing. */
async function checkHelm(
  client: KubeClient,
  { namespace, whileHelmUninstalls: name }: Flags,
  words: CommandWords,
): Promise<void> {
  if (name === undefined) return;
  const { helmDoesNotUninstall } = await import("./uninstall-plan.ts");
  const why = await helmDoesNotUninstall(client, { namespace, name });
  if (why === undefined) return;
  throw new CommandError(
    FAILED,
    `nothing was changed, because Helm is not seen to uninstall: ${why}. To remove HookPolicy, run '${typed(ownCommand(namespace), words)}' first`,
  );
}

function ownCommand(namespace: string): string {
  return `hookpolicy prepare-uninstall --namespace ${shellQuote(namespace)}`;
}

function checkHeld({ held }: UninstallPlan, flags: Flags, words: CommandWords): void {
  if (held.length === 0 || flags.yes !== true || flags.releaseHeldClusters === true) return;
  const all = typed("hookpolicy get -A", words);
  const release = typed(`${ownCommand(flags.namespace)} --release-held-clusters`, words);
  throw new CommandError(
    FAILED,
    `nothing was changed, because that would release what is held: wait until '${all}' shows nothing, or release it with '${release}'`,
  );
}

async function checkAgreed(
  agreed: UninstallPlan,
  present: UninstallPlan,
  words: CommandWords,
): Promise<void> {
  const { beyond } = await import("./held-now.ts");
  const added = beyond(agreed.held, present.held);
  if (added.length === 0) return;
  stderr.lines(heldLines({ ...present, held: added }, words));
  throw new CommandError(FAILED, "nothing was changed, because more is held by now: run it again");
}

async function carryOut({ steps }: UninstallPlan): Promise<void> {
  for (const step of steps) {
    stdout.begin(`${step.does} ... `);
    stdout.line(await done(step));
  }
}

async function done({ run, optional }: UninstallStep): Promise<string> {
  try {
    await run();
    return "done";
  } catch (error) {
    const { isForbidden } = await import("../../kube/kube-error.ts");
    if (optional !== true || !isForbidden(error)) throw error;
    return `left out: ${String(error)}`;
  }
}
