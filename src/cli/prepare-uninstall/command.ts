/** `hookpolicy prepare-uninstall`: all steps that must precede the removal of the operator. */

import { type Command, Option } from "commander";
import { addExamples } from "../command.ts";
import type { Plan, Step } from "./uninstallplan.ts";
import { confirm } from "../terminal/confirm.ts";
import { addConnectionFlags, type ConnectionFlags, parseTime } from "../fleet/connection.ts";
import { stderr, stdout } from "../terminal/output.ts";

interface Flags extends ConnectionFlags {
  readonly namespace: string;
  readonly timeout: number;
  readonly dryRun?: true;
  readonly yes?: true;
}

const EXAMPLES = `\
  # What would happen?
  hookpolicy prepare-uninstall --dry-run

  # From a script, before the manifests are deleted
  hookpolicy prepare-uninstall --yes && kubectl delete --ignore-not-found -k .`;

const DEFAULT_TIMEOUT_MS = 120_000;

export function addPrepareUninstall(program: Command): void {
  const command = program
    .command("prepare-uninstall")
    .summary("prepare the removal of the operator")
    .description(
      "Unregisters the operator from Cluster API, which releases every held Cluster; removes its webhook; stops it; removes its finalizer from policies; and says in the statuses of policies and rollouts that it is gone. These and the CRDs stay. Everything comes back when the operator is installed again.\n\nExit code: 0 done, 1 failed or not confirmed, 2 no kubeconfig or wrong usage. What is done already is skipped.",
    )
    .option("-n, --namespace <name>", "where the operator runs", "hookpolicy-system")
    .addOption(
      new Option("--timeout <duration>", "how long its Pods may take to stop")
        .argParser(parseTime)
        .default(DEFAULT_TIMEOUT_MS, "2m"),
    )
    .option("--dry-run", "only print what would be done")
    .option("-y, --yes", "do not ask");
  addExamples(addConnectionFlags(command), EXAMPLES);
  command.action(async (_: unknown, self: Command) => {
    await prepareUninstall(self.optsWithGlobals<Flags>());
  });
}

async function prepareUninstall(flags: Flags): Promise<void> {
  const { namespace, timeout: timeoutMs } = flags;
  const { withApiServer } = await import("../fleet/livefleet.ts");
  const { planUninstall } = await import("./uninstallplan.ts");
  await withApiServer(flags, async (client) => {
    await carryOut(await planUninstall(client, { namespace, timeoutMs }), flags);
  });
}

async function carryOut({ steps, holding }: Plan, flags: Flags): Promise<void> {
  if (steps.length === 0) {
    stdout.line("nothing to do");
    return;
  }
  if (holding.length > 0) {
    stderr.line(`warning: Clusters are held now and will be released: ${holding.join(", ")}`);
  }
  const dryRun = flags.dryRun === true;
  const yes = flags.yes === true;
  if (dryRun || !yes) stdout.lines(steps.map(({ does }) => `would ${does}`));
  if (dryRun) return;
  await confirm("Do it?", yes);
  for (const step of steps) {
    stdout.begin(`${step.does} ... `);
    stdout.line(await done(step));
  }
}

async function done({ run, optional }: Step): Promise<string> {
  try {
    await run();
    return "done";
  } catch (error) {
    const { isForbidden } = await import("../../kube/kubeerror.ts");
    if (optional !== true || !isForbidden(error)) throw error;
    return `left out: ${String(error)}`;
  }
}
