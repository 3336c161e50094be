/** `hookpolicy prepare-uninstall`: everything that has to happen before the operator is removed. */

import { createInterface } from "node:readline/promises";
import { type Command, InvalidArgumentError } from "commander";
import { addExamples, CommandError, FAILED } from "../cli/command.ts";
import type { Plan } from "../live/uninstall.ts";
import { UsageError } from "../manager/options.ts";
import { parseDuration } from "../policy/duration.ts";
import { VERSION } from "../version.ts";

interface Flags {
  readonly namespace: string;
  readonly timeout: number;
  readonly dryRun?: true;
  readonly yes?: true;
  readonly kubeconfig?: string;
}

const EXAMPLES = `\
  # What would happen?
  hookpolicy prepare-uninstall --dry-run

  # From a script, before the manifests are deleted
  hookpolicy prepare-uninstall --yes && kubectl delete -k .`;

const DEFAULT_TIMEOUT_MS = 120_000;

export function addPrepareUninstall(program: Command): void {
  const command = program
    .command("prepare-uninstall")
    .summary("what comes before removing the operator")
    .description(
      "Unregisters the operator from Cluster API, which lets every held Cluster go on; removes its webhook; stops it; and removes its finalizer from policies. Policies and CRDs stay. Everything comes back when the operator is installed again.\n\nExit code: 0 done, 1 failed or not confirmed, 2 wrong usage. What is done already is skipped.",
    )
    .option("-n, --namespace <name>", "where the operator runs", "hookpolicy-system")
    .option(
      "--timeout <duration>",
      "how long its Pods may take to stop, such as 2m",
      duration,
      DEFAULT_TIMEOUT_MS,
    )
    .option("--dry-run", "only print what would be done")
    .option("-y, --yes", "do not ask")
    .option("--kubeconfig <file>", "how to reach the API server; default: as kubectl");
  addExamples(command, EXAMPLES);
  command.action(async (_: unknown, self: Command) => {
    await prepareUninstall(self.optsWithGlobals<Flags>());
  });
}

function duration(text: string): number {
  const ms = parseDuration(text);
  if (ms === undefined)
    throw new InvalidArgumentError("Allowed: hours, minutes and seconds, such as 2m or 90s");
  return ms;
}

async function prepareUninstall(flags: Flags): Promise<void> {
  if (flags.dryRun !== true && flags.yes !== true && !process.stdin.isTTY) {
    throw new UsageError(
      "there is no terminal to ask on: give --yes, or --dry-run to see what would be done",
    );
  }
  const { namespace, timeout: timeoutMs, kubeconfig } = flags;
  const { withApiServer } = await import("../live/fleet.ts");
  const { planUninstall } = await import("../live/uninstall.ts");
  await withApiServer(
    { version: VERSION, ...(kubeconfig !== undefined && { kubeconfig }) },
    async (client) => {
      await carryOut(await planUninstall(client, { namespace, timeoutMs }), flags);
    },
  );
}

async function carryOut(plan: Plan, { dryRun, yes }: Flags): Promise<void> {
  if (plan.steps.length === 0) {
    process.stdout.write("nothing to do\n");
    return;
  }
  if (plan.holding.length > 0) {
    process.stderr.write(`warning: Clusters are held now, and go on: ${plan.holding.join(", ")}\n`);
  }
  if (dryRun === true || yes !== true) {
    process.stdout.write(plan.steps.map(({ does }) => `would ${does}\n`).join(""));
  }
  if (dryRun === true) return;
  if (yes !== true && !(await confirmed())) throw new CommandError(FAILED, "not confirmed: nothing was done");
  for (const { does, run } of plan.steps) {
    process.stdout.write(`${does} ... `);
    await run();
    process.stdout.write("done\n");
  }
}

async function confirmed(): Promise<boolean> {
  const terminal = createInterface({ input: process.stdin, output: process.stderr });
  try {
    return /^y(es)?$/i.test((await terminal.question("Do it? [y/N] ")).trim());
  } finally {
    terminal.close();
  }
}
