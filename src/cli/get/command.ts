/** `hookpolicy get`: what policies hold across the fleet. */

import type { Command } from "commander";
import { addExamples, choice, programName } from "../command.ts";
import type { HeldFleet } from "./held.ts";
import type { Grouping, HeldView } from "./report.ts";
import type { RawObject } from "../fleet/kinds.ts";
import type { PolicyView } from "./followheld.ts";
import { UsageError } from "../../operator/options.ts";
import {
  addConnectionFlags,
  type ConnectionFlags,
  connectionWords,
  reading,
  tellLost,
} from "../fleet/connection.ts";
import { terminalOf } from "../terminal/terminal.ts";
import { stderr, stdout, untilReaderIsGone } from "../terminal/output.ts";

const FORMATS = ["text", "json"] as const;
const GROUPINGS = ["operation", "policy", "cluster"] as const satisfies readonly Grouping[];

interface Flags extends ConnectionFlags {
  readonly allNamespaces?: true;
  readonly namespace?: string;
  readonly watch?: true;
  readonly by: Grouping;
  readonly output: (typeof FORMATS)[number];
  readonly color: boolean;
}

const EXAMPLES = `\
  # Everything that is held, the longest first
  hookpolicy get -A

  # How much each policy holds
  hookpolicy get -A --by policy

  # Of one team, and what changes from now on
  hookpolicy get -n team-a -w`;

export function addGet(program: Command): void {
  const command = program
    .command("get")
    .summary("what is held across the fleet")
    .description(
      "Lists the operations that policies hold, as the operator reports them in the status of the policies: the longest first.",
    )
    .option("-A, --all-namespaces", "Clusters of all namespaces")
    .option("-n, --namespace <namespace>", "Clusters of this namespace; default: the context's")
    .option("-w, --watch", "stay, and show every change")
    .addOption(choice("--by <what>", "a line for each of these", GROUPINGS))
    .addOption(choice("-o, --output <format>", "how to print", FORMATS));
  addConnectionFlags(command);
  addExamples(command, EXAMPLES);
  command.action(async (_: unknown, self: Command) => {
    const flags = self.optsWithGlobals<Flags>();
    if (flags.allNamespaces === true && flags.namespace !== undefined) {
      throw new UsageError("-A means all namespaces, -n one of them: one or the other");
    }
    if (flags.watch === true && flags.by !== "operation")
      throw new UsageError("-w shows operations: leave --by out");
    await get(flags, programName(self));
  });
}

async function get(flags: Flags, program: string): Promise<void> {
  const { withApiServer } = await import("../fleet/livefleet.ts");
  const { contextNamespace, readHeld } = await import("./followheld.ts");
  await reading(
    withApiServer(flags, async (client) => {
      const namespace =
        flags.allNamespaces === true ? undefined : (flags.namespace ?? contextNamespace(flags));
      const view = await readHeld(client, namespace);
      if (view.unread !== undefined) {
        stderr.line(`warning: ${view.unread}: what ClusterHookPolicies hold is not shown`);
      }
      if (flags.watch !== true) {
        const { operatorSeen } = await import("./operatorseen.ts");
        const seen = await operatorSeen(client);
        return await print({ ...view, ...(seen && { seen }) }, namespace, { flags, program });
      }
      const { followHeld } = await import("./followheld.ts");
      const scope = { cluster: view.unread === undefined, ...(namespace !== undefined && { namespace }) };
      const readerIsGone = untilReaderIsGone();
      const watcher = await watcherFor(flags, { program, namespace });
      await followHeld(client, scope, { onPolicies: watcher, onLost: tellLost }, readerIsGone);
    }),
  );
}

interface Place {
  readonly flags: Flags;
  readonly program: string;
}

function viewFor({ flags, program }: Place): HeldView {
  return {
    now: new Date(),
    by: flags.by,
    program,
    connection: connectionWords(flags),
    ...terminalOf(process.stdout, flags),
  };
}

async function print(
  { policies, seen }: Pick<PolicyView, "policies"> & { readonly seen?: Date },
  namespace: string | undefined,
  place: Place,
): Promise<void> {
  const { heldBy } = await import("./held.ts");
  const { heldJson, heldLines } = await import("./report.ts");
  const fleet = { ...heldBy(policies, namespace), ...(seen && { operatorSeen: seen }) };
  if (place.flags.output === "json") stdout.json(heldJson(fleet, new Date()));
  else {
    if (isEmpty(fleet)) stderr.line(`nothing is held${inNamespace(namespace)}`);
    stdout.lines(heldLines(fleet, viewFor(place)));
  }
}

function isEmpty({ held, omitted }: HeldFleet): boolean {
  return held.length + omitted.length === 0;
}

function inNamespace(namespace: string | undefined): string {
  return namespace === undefined ? "" : ` in namespace ${namespace}`;
}

/** Ages change with time. */
const REDRAW_MS = 10_000;

/** A terminal is redrawn; any other output gets a line for each change. */
async function watcherFor(
  flags: Flags,
  { program, namespace }: { readonly program: string; readonly namespace: string | undefined },
): Promise<(policies: readonly RawObject[]) => void> {
  const { heldBy } = await import("./held.ts");
  const { heldLines } = await import("./report.ts");
  const { HeldStream } = await import("./heldstream.ts");
  if (process.stdout.isTTY && flags.output === "text") {
    let fleet: HeldFleet | undefined;
    const draw = (): void => {
      if (fleet === undefined) return;
      const none = isEmpty(fleet) ? [`nothing is held${inNamespace(namespace)}`] : [];
      stdout.screen([...none, ...heldLines(fleet, viewFor({ flags, program }))]);
    };
    setInterval(draw, REDRAW_MS).unref();
    process.stdout.on("resize", draw);
    return (policies) => {
      fleet = heldBy(policies, namespace);
      draw();
    };
  }
  const stream = new HeldStream({
    json: flags.output === "json",
    program,
    connection: connectionWords(flags),
  });
  return (policies) => {
    stdout.lines(stream.next(heldBy(policies, namespace), new Date()));
  };
}
