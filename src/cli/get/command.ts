/** `hookpolicy get`: what policies and rollouts hold across the fleet. */

import { Command, Option } from "commander";
import { choice, type FlagsOf, runs } from "../command.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import type { HeldFleet } from "../fleet/held.ts";
import type { Holders } from "./holders.ts";
import type { OperatorSeen } from "../fleet/operator-life.ts";
import type { Grouping, HeldView } from "./report.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { UsageError } from "../../lib/thrown.ts";
import { addConnectionFlags, reading, tellLost, viewOf } from "../fleet/connection.ts";
import { stderr, stdout, untilReaderIsGone } from "../terminal/output.ts";
import { adviceText } from "../terminal/printed-command.ts";

const FORMATS = ["text", "json"] as const;
const GROUPINGS = ["operation", "policy", "cluster"] as const satisfies readonly Grouping[];

const EXAMPLES = `\
  # Everything that is held, the longest first
  hookpolicy get -A

  # How much each policy holds
  hookpolicy get -A --by policy

  # Of one team, and what changes from now on
  hookpolicy get -n team-a -w`;

const command = addConnectionFlags(
  new Command("get")
    .summary("what is held across the fleet")
    .description(
      "Lists the operations that policies and rollouts hold, as the operator reports them in their statuses: the longest first.\n\nExit code: 0 listed, 2 an API server that cannot be read or wrong usage.",
    )
    .addOption(new Option("-A, --all-namespaces", "Clusters of all namespaces").conflicts("namespace"))
    .option("-n, --namespace <namespace>", "Clusters of this namespace; default: the context's")
    .option("-w, --watch", "stay, and show every change")
    .addOption(choice("--by <what>", "a line for each of these", GROUPINGS))
    .addOption(choice("-o, --output <format>", "how to print", FORMATS)),
);

type Flags = FlagsOf<typeof command>;

export const addGet = runs(command, EXAMPLES, async ({ flags, program }) => {
  if ((flags.watch === true || flags.output === "json") && flags.by !== "operation")
    throw new UsageError("-w and -o json show operations: leave --by out");
  await get(flags, program);
});

/** `namespace`: its Clusters only; absent: those of all namespaces. */
interface Query {
  readonly flags: Flags;
  readonly program: string;
  readonly namespace: string | undefined;
}

async function get(flags: Flags, program: string): Promise<void> {
  const { contextNamespace, withApiServer } = await import("../fleet/live-fleet.ts");
  const { heldBy } = await import("../fleet/held.ts");
  const { checkNamespace, readHolders, unreadNotes } = await import("./holders.ts");
  const { operatorSeen } = await import("../fleet/operator-life.ts");
  await reading(() =>
    withApiServer(flags, async (client) => {
      const own = flags.namespace ?? contextNamespace(flags);
      const namespace = flags.allNamespaces === true ? undefined : own;
      const query = { flags, program, namespace };
      const holders = await readHolders(client, namespace);
      const fleet = heldBy(holders.objects, namespace);
      if (namespace !== undefined && fleet.held.length === 0) await checkNamespace(client, namespace);
      if (flags.watch === true) return await watch(client, holders, query);
      stderr.lines(unreadNotes(holders).map(warning));
      // The operator's times are compared with the API server's: this machine's clock may be wrong.
      await print({ ...fleet, ...(await operatorSeen(client)) }, query, client.serverClock.serverTime());
    }),
  );
}

function warning(note: string): string {
  return `warning: ${note}`;
}

function viewFor({ flags, program }: Query, now: Date): HeldView {
  return { now, by: flags.by, ...viewOf(flags, program) };
}

async function print(fleet: HeldFleet, query: Query, now: Date): Promise<void> {
  const { heldJson, heldLines } = await import("./report.ts");
  if (query.flags.output === "json") return stdout.json(heldJson(fleet, now));
  stderr.lines(emptyLines(fleet, query));
  stdout.lines(heldLines(fleet, viewFor(query, now)));
}

/** The namespace of the context may not be the one that is meant: one that the user has named is. */
function emptyLines({ held, omitted }: HeldFleet, { namespace, flags }: Query): string[] {
  if (held.length + omitted.length > 0) return [];
  const others = flags.namespace === undefined ? "; -A looks in all of them" : "";
  return [`nothing is held${namespace === undefined ? "" : ` in namespace ${namespace}${others}`}`];
}

async function watch(client: KubeClient, holders: Holders, query: Query): Promise<void> {
  const { heldBy } = await import("../fleet/held.ts");
  const { followHolders, unreadNotes } = await import("./holders.ts");
  const { namespace, flags } = query;
  const isDrawn = process.stdout.isTTY && flags.output === "text";
  const show = await (isDrawn ? screenFor : streamFor)(query, () => client.serverClock.serverTime());
  let { unread } = holders;
  let fleet: HeldFleet | undefined;
  let seen: OperatorSeen = {};
  const tell = (): void => {
    if (fleet !== undefined) show({ ...fleet, ...seen }, unreadNotes({ unread }));
  };
  const onHolders = (objects: readonly RawObject[]): void => {
    fleet = heldBy(objects, namespace);
    tell();
  };
  const onOperator = (found: OperatorSeen): void => {
    seen = found;
    tell();
  };
  const onUnread = (text: string): void => {
    unread = [...unread, text];
  };
  const scope = { resources: holders.resources, ...(namespace !== undefined && { namespace }) };
  const follower = { onHolders, onOperator, onLost: tellLost, onUnread };
  await followHolders(client, scope, follower, untilReaderIsGone());
}

type Watcher = (fleet: HeldFleet, unread: readonly string[]) => void;

/** Ages change with time. */
const REDRAW_MS = 10_000;

/** A terminal is redrawn, with the warnings. */
async function screenFor(query: Query, now: () => Date): Promise<Watcher> {
  const { heldLines } = await import("./report.ts");
  let draw: (() => void) | undefined;
  setInterval(() => draw?.(), REDRAW_MS).unref();
  process.stdout.on("resize", () => draw?.());
  return (fleet, unread) => {
    draw = () => {
      const lines = heldLines(fleet, viewFor(query, now()));
      stdout.screen([...unread.map(warning), ...emptyLines(fleet, query), ...lines]);
    };
    draw();
  };
}

/** Any other output gets a line for each change, and a warning where rows begin to be out of date. */
async function streamFor({ flags, program }: Query, now: () => Date): Promise<Watcher> {
  const { ageNotes, heldStream } = await import("./report.ts");
  const view = viewOf(flags, program);
  const next = heldStream({ json: flags.output === "json", ...view });
  let told = 0;
  let isOld = false;
  return (fleet, unread) => {
    const notes = ageNotes(fleet, now()).map((note) => adviceText(note, view));
    stderr.lines([...unread.slice(told), ...(isOld ? [] : notes)].map(warning));
    told = unread.length;
    isOld = notes.length > 0;
    stdout.lines(next(fleet, now()));
  };
}
