/** Prints what is held: as tables, as blocks for narrow terminals, and as JSON. */

import { clusterOfRow } from "../../operations/rows.ts";
import { counted } from "../../lib/counted.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { HeldObject } from "../../page/wire.ts";
import { type HolderRef, policyName } from "../../policy/policy-ref.ts";
import { timestamp } from "../../lib/instant.ts";
import { grantCommand } from "../../objects/object-refusal.ts";
import { approveCommand } from "../../policy/settable.ts";
import { taskCommand } from "../task/task-command.ts";
import { shellQuote } from "../../policy/message.ts";
import { width } from "../terminal/colour.ts";
import {
  type Due,
  hasNoLease,
  type HeldFleet,
  heldKey,
  type HeldOperation,
  overdue,
  silentSince,
} from "./held.ts";
import { ageText, since, until } from "../terminal/age.ts";
import { row as tableRow, tableLines } from "../terminal/table.ts";
import { type Detail, indented, wrapped } from "../terminal/tree.ts";

export type Grouping = "operation" | "policy" | "cluster";

/** The first and the last words of the commands that are shown. */
export interface CommandWords {
  readonly program: string;
  /** The flags that select the same cluster: " --context prod". */
  readonly connection: string;
}

export interface HeldView extends Terminal, CommandWords {
  readonly now: Date;
  readonly by: Grouping;
}

export function heldLines(fleet: HeldFleet, view: HeldView): string[] {
  const { columns = Infinity } = view;
  const fits = (lines: readonly string[]): boolean => lines.every((line) => width(line) <= columns);
  const notes = heldNotes(fleet, view.now).flatMap((note) => wrapped(note, columns, "  "));
  const { tables, blocks } = formsOf(fleet, view);
  const alarms = tornDownNotes(fleet).flatMap((note) => wrapped(note, columns, "  "));
  return [...alarms.map(view.colour.red), ...(tables.find(fits) ?? blocks()), ...notes];
}

interface Forms {
  readonly tables: readonly string[][];
  /** For a terminal that is too narrow for all tables. */
  readonly blocks: () => string[];
}

function formsOf({ held }: HeldFleet, view: HeldView): Forms {
  if (view.by === "policy") return formsOfSummary(byPolicy(held, view), view);
  if (view.by === "cluster") return formsOfSummary(byCluster(held, view), view);
  const rows = held.map((each) => cells(each, view));
  const withoutCommands = rows.map((row) => row.slice(0, HEADINGS.length));
  return {
    tables: [tableLines([...HEADINGS, "UNBLOCK"], rows), tableLines(HEADINGS, withoutCommands)],
    blocks: () => operationBlocks(held, view),
  };
}

interface Summary {
  readonly headings: readonly string[];
  readonly rows: readonly (readonly string[])[];
}

function formsOfSummary({ headings, rows }: Summary, { colour, columns }: HeldView): Forms {
  const labels = headings.slice(1).map((heading) => heading.toLowerCase());
  const block = ([subject = "", ...texts]: readonly string[]): string[] => [
    colour.bold(subject),
    ...indented(
      labels.map((label, index) => ({ label, text: texts[index] ?? "" })),
      columns,
    ),
  ];
  return { tables: [tableLines(headings, rows)], blocks: () => rows.flatMap(block) };
}

const HEADINGS = ["CLUSTER", "HOOK", "POLICY", "RULE/GATE", "HELD", "RELEASE"] as const;

function cells(held: HeldOperation, view: CommandWords & Pick<HeldView, "now">): string[] {
  const { policy, row } = held;
  return [
    clusterOfRow(row),
    row.hook,
    shortName(policy),
    ruleAndGate(held),
    since(row.firstAsked, view.now),
    until(row.earliestRelease, view.now),
    wayOut(held, view),
  ];
}

/** A HookPolicy is always in the Cluster's namespace. */
function shortName({ kind, name }: HolderRef): string {
  return `${kind}/${name}`;
}

function ruleAndGate({ row: { rule, gate } }: HeldOperation): string {
  return gate === undefined ? rule : `${rule}/${gate}`;
}

function wayOut(held: HeldOperation, words: CommandWords): string {
  return commandFor(held, words) ?? held.row.message;
}

/** As `explain` offers it. */
export function commandFor(held: HeldOperation, words: CommandWords): string | undefined {
  const { approvable, forbidden, row } = held;
  const command = approvable
    ? approveCommand(clusterOfRow(row), row.hook)
    : (failedTaskCommand(held) ?? (forbidden === undefined ? undefined : grantCommand([forbidden])));
  return command === undefined ? undefined : typed(command, words);
}

/** How the user starts the program, and the same connection. */
export function typed(command: string, { program, connection }: CommandWords): string {
  return `${command.replace(/^hookpolicy /, () => `${program} `)}${connection}`;
}

const RETRY = /\(hookpolicy task retry ([a-z0-9-]+)\/([a-z0-9.-]+)\)$/;

/** The operator's words stand last; where they are cut, a list shows the task. */
function failedTaskCommand({ row, policy }: HeldOperation): string | undefined {
  if (row.reason !== "TaskFailed" && row.reason !== "TaskAltered") return undefined;
  const [, namespace = "", name = ""] = RETRY.exec(row.message) ?? [];
  if (row.reason === "TaskFailed" && namespace === (policy.namespace ?? namespace) && name !== "")
    return taskCommand("retry", { namespace, name });
  // The account of a ClusterHookPolicy may be in any namespace.
  const where = policy.namespace === undefined ? "-A" : `-n ${policy.namespace}`;
  return `hookpolicy task list ${where} --for-cluster ${shellQuote(clusterOfRow(row))}`;
}

function operationBlocks(held: readonly HeldOperation[], view: HeldView): string[] {
  const { now, colour, columns } = view;
  return [...Map.groupBy(held, operationOf)].flatMap(([operation, all]) => [
    `${colour.bold(operation)}, held for ${oldest(all, now)}`,
    ...all.flatMap((each) => indented(detailsOf(each, view), columns)),
  ]);
}

function detailsOf(held: HeldOperation, view: HeldView): (Detail | false)[] {
  const { policy, row } = held;
  return [
    { label: "held by", text: `${policyName(policy)} ${ruleAndGate(held)} (${row.reason})` },
    row.earliestRelease !== undefined && { label: "release", text: row.earliestRelease },
    { label: "unblock", text: wayOut(held, view), whole: held.approvable },
  ];
}

function operationOf({ row }: HeldOperation): string {
  return `${clusterOfRow(row)} ${row.hook}`;
}

function byPolicy(held: readonly HeldOperation[], { now }: HeldView): Summary {
  const groups = [...Map.groupBy(held, ({ policy }) => policyName(policy))];
  return {
    headings: ["POLICY", "CLUSTERS", "OLDEST", "NEXT RELEASE"],
    rows: groups.map(([name, rows]) => [
      name,
      String(new Set(rows.map(({ row }) => row.clusterUID)).size),
      oldest(rows, now),
      until(releases(rows)[0], now),
    ]),
  };
}

/** All policies that hold an operation must release it, so the last one decides. */
function byCluster(held: readonly HeldOperation[], view: HeldView): Summary {
  const groups = [...Map.groupBy(held, operationOf).values()];
  return {
    headings: ["CLUSTER", "HOOK", "POLICIES", "HELD", "RELEASE"],
    rows: groups.map((rows) => {
      const [cluster = "", hook = ""] = rows[0] === undefined ? [] : cells(rows[0], view);
      const times = releases(rows);
      return [
        cluster,
        hook,
        rows.map(({ policy }) => shortName(policy)).join(","),
        oldest(rows, view.now),
        until(times.length === rows.length ? times.at(-1) : undefined, view.now),
      ];
    }),
  };
}

function oldest(rows: readonly HeldOperation[], now: Date): string {
  return ageText(Math.max(...rows.map(({ row }) => now.getTime() - Date.parse(row.firstAsked))));
}

function releases(rows: readonly HeldOperation[]): string[] {
  return rows.flatMap(({ row }) => row.earliestRelease ?? []).toSorted();
}

const SHOWN_ALARMS = 5;

/** One for each Cluster, and one for those beyond the first. */
export function tornDownNotes({ held }: HeldFleet): string[] {
  const torn = new Map(
    held.flatMap(({ row }) =>
      row.tornDown === undefined ? [] : [[clusterOfRow(row), row.tornDown] as const],
    ),
  );
  const shown = [...torn].slice(0, SHOWN_ALARMS);
  const more = torn.size - shown.length;
  return [
    ...shown.map(([cluster, { message }]) => `ALARM: ${cluster} is torn down: ${message}`),
    ...(more > 0
      ? [`ALARM: ${counted(more, "more held Cluster")} ${more === 1 ? "is" : "are"} torn down`]
      : []),
  ];
}

export function heldNotes(fleet: HeldFleet, now: Date): string[] {
  const { held, omitted, wouldBlock, operatorSeen } = fleet;
  const isEmpty = held.length === 0 && hasNoLease(operatorSeen);
  const rows = held.map(({ row }) => row);
  const silent = isEmpty ? undefined : silentSince(operatorSeen, rows, now);
  return [
    ...(silent === undefined ? ageNotes(fleet, now) : [silentNote(silent, now)]),
    ...omitted.map(
      ({ policy, count }) => `and ${count} more that the status of ${policyName(policy)} leaves out`,
    ),
    ...(wouldBlock === 0
      ? []
      : [`${wouldBlock} more would be held if their policies were not of mode Audit`]),
  ];
}

/** Where no Lease says that the operator has stopped. */
function ageNotes(fleet: HeldFleet, now: Date): string[] {
  const { held, operatorUnread: why } = fleet;
  const due = overdueNote(overdue(fleet, now), now);
  if (due.length > 0 || held.length === 0 || why === undefined) return due;
  return [`${why}: whether the operator runs is unknown, and so is whether these rows are up to date`];
}

function silentNote(silent: Date, now: Date): string {
  if (hasNoLease(silent))
    return "no operator has a Lease, as without --leader-elect: whether one runs is unknown, and so is whether these rows are up to date; see 'hookpolicy doctor'";
  return `${signOfLife(silent, now)}, and these rows can be out of date; see 'hookpolicy doctor'`;
}

export function signOfLife(seen: Date, now: Date): string {
  return `the operator's last sign of life is ${ageText(now.getTime() - seen.getTime())} old: it seems not to run`;
}

/** The first instant that was missed. What has happened since then is in no row. */
function overdueNote([first, ...others]: readonly Due[], now: Date): string[] {
  if (first === undefined) return [];
  const more = others.length === 0 ? "" : ` (and ${counted(others.length, "more policy")})`;
  return [
    `the operator should have updated the status of ${policyName(first.policy)} ${since(first.since, now)} ago${more}: it seems not to run, and these rows can be out of date; see 'hookpolicy doctor'`,
  ];
}

export function heldJson(fleet: HeldFleet, now: Date): object {
  const { held, omitted, wouldBlock, operatorSeen } = fleet;
  return {
    held: held.map(heldObject),
    omitted,
    wouldBlock,
    overdue: overdue(fleet, now),
    ...(operatorSeen !== undefined && !hasNoLease(operatorSeen) && { operatorSeen: timestamp(operatorSeen) }),
  };
}

export function heldObject({ policy, row, approvable }: HeldOperation): HeldObject {
  const { clusterUID, hook, targetVersion, rule, gate, verdict, reason, message } = row;
  return {
    cluster: clusterOfRow(row),
    clusterUID,
    hook,
    ...(targetVersion !== undefined && { targetVersion }),
    policy,
    rule,
    ...(gate !== undefined && { gate }),
    verdict,
    reason,
    message,
    firstAsked: row.firstAsked,
    since: row.since,
    ...(row.earliestRelease !== undefined && { earliestRelease: row.earliestRelease }),
    ...(row.tornDown !== undefined && { tornDown: row.tornDown }),
    approvable,
  };
}

/** Held: at the start, or newly. Changed: the row is another one. Released: the policy no longer holds the operation. */
type Event = "Held" | "Changed" | "Released";

/** Returns a function that gives the lines for what has changed since its last call. */
export function heldStream(
  options: CommandWords & { readonly json: boolean },
): (fleet: HeldFleet, now: Date) => string[] {
  let known: ReadonlyMap<string, HeldOperation> = new Map();
  let widths: readonly number[] = [];
  return (fleet, now) => {
    const events = changes(known, fleet);
    known = new Map(fleet.held.map((each) => [heldKey(each), each]));
    if (events.length === 0) return [];
    if (options.json) return events.map(([event, held]) => JSON.stringify({ event, ...heldObject(held) }));
    const rows = events.map(([event, held]) => {
      const [cluster = "", ...rest] = cells(held, { now, ...options });
      return event === "Released" ? [event, cluster, ...rest.slice(0, 4), "", ""] : [event, cluster, ...rest];
    });
    const lines = widths.length === 0 ? [COLUMNS, ...rows] : rows;
    // Columns only grow, as with kubectl.
    widths = COLUMNS.map((_, column) =>
      Math.max(widths[column] ?? 0, ...lines.map((line) => width(line[column] ?? ""))),
    );
    return lines.map((line) => tableRow(line, widths));
  };
}

const COLUMNS: readonly string[] = ["EVENT".padEnd("Released".length), ...HEADINGS, "UNBLOCK"];

function changes(
  before: ReadonlyMap<string, HeldOperation>,
  { held, omitted }: HeldFleet,
): [Event, HeldOperation][] {
  const present = new Set(held.map(heldKey));
  // The policy may still hold an operation that has lost its row in a full status.
  const short = new Set(omitted.map(({ policy }) => policyName(policy)));
  const gone = [...before].flatMap(([key, each]): [Event, HeldOperation][] =>
    present.has(key) || short.has(policyName(each.policy)) ? [] : [["Released", each]],
  );
  const news = held.flatMap((each): [Event, HeldOperation][] => {
    const known = before.get(heldKey(each));
    if (known === undefined) return [["Held", each]];
    return JSON.stringify(known.row) === JSON.stringify(each.row) ? [] : [["Changed", each]];
  });
  return [...gone, ...news];
}
