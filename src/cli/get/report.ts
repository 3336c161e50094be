/** Prints what is held: as tables, as blocks for narrow terminals, and as JSON. */

import { clusterOfRow } from "../../operations/rows.ts";
import { counted } from "../../lib/counted.ts";
import { firstNames, SHOWN } from "../../lib/first-names.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { HeldObject } from "../../page/wire.ts";
import { type HolderRef, policyName } from "../../policy/policy-ref.ts";
import { timestamp } from "../../lib/instant.ts";
import { grantCommand } from "../../objects/object-refusal.ts";
import { approveCommand } from "../../policy/mark.ts";
import { shellQuote } from "../../lib/shell-quote.ts";
import { type HeldFleet, heldKey, type HeldOperation } from "../fleet/held.ts";
import { overdue, signOfLife, silentSince } from "../fleet/operator-life.ts";
import { ageText, since, until } from "../../lib/age.ts";
import {
  type Advice,
  advice,
  adviceWords,
  type CommandWords,
  SEE_DOCTOR,
  taskCommand,
  typed,
} from "../terminal/printed-command.ts";
import { fittingLines, tableLines } from "../terminal/table.ts";
import { wrapped } from "../terminal/tree.ts";

export type Grouping = "operation" | "policy" | "cluster";

export interface HeldView extends Terminal, CommandWords {
  readonly now: Date;
  readonly by: Grouping;
}

export function heldLines(fleet: HeldFleet, view: HeldView): string[] {
  const { now, by, colour, columns } = view;
  const wrap = (notes: readonly Advice[]): string[] =>
    notes.flatMap((note) => wrapped(adviceWords(note, view), columns, "  "));
  return [
    ...wrap(tornDownNotes(fleet)).map(colour.red),
    ...LINES[by](fleet, view),
    ...wrap(heldNotes(fleet, now)),
  ];
}

const LINES: Readonly<Record<Grouping, (fleet: HeldFleet, view: HeldView) => string[]>> = {
  operation: operationLines,
  policy: policyLines,
  cluster: clusterLines,
};

const HEADINGS = ["CLUSTER", "HOOK", "POLICY", "RULE/GATE", "HELD", "RELEASE", "UNBLOCK"];

function operationLines({ held }: HeldFleet, view: HeldView): string[] {
  const rows = held.map((each) => [...cells(each, view), each.row.reason]);
  const whole = new Set(held.map((each) => commandFor(each, view)));
  const tables = [HEADINGS.length, HEADINGS.length - 1];
  return fittingLines([...HEADINGS, "REASON"], rows, view, { tables, whole });
}

function cells(held: HeldOperation, view: CommandWords & Pick<HeldView, "now">): string[] {
  const { policy, row } = held;
  const command = commandFor(held, view);
  const gate = (command === undefined ? BRIEF.exec(row.message)?.[1] : undefined) ?? row.gate;
  return [
    clusterOfRow(row),
    row.hook,
    shortName(policy),
    gate === undefined ? row.rule : `${row.rule}/${gate}`,
    since(row.firstAsked, view.now),
    until(row.earliestRelease, view.now),
    command ?? row.message,
  ];
}

/** Where not all gates fit into the message, it has the first command, which may be that of a later gate than the row's. */
const BRIEF = /^(?:"(?:[^"\\]|\\.)*", )?gate (\S+) waits \(/;

/** A HookPolicy is always in the Cluster's namespace. */
function shortName({ kind, name }: HolderRef): string {
  return `${kind}/${name}`;
}

/** As `explain` offers it. */
export function commandFor(held: HeldOperation, words: CommandWords): string | undefined {
  const { approvable, forbidden, row } = held;
  const command = approvable
    ? approveCommand(clusterOfRow(row), row.hook)
    : (failedTaskCommand(held) ?? (forbidden === undefined ? undefined : grantCommand([forbidden])));
  return command === undefined ? undefined : typed(command, words);
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

function policyLines({ held, omitted }: HeldFleet, view: HeldView): string[] {
  const short = new Set(omitted.map(({ policy }) => policyName(policy)));
  const groups = [...Map.groupBy(held, ({ policy }) => policyName(policy))];
  const rows = groups.map(([name, of]) => [
    name,
    `${short.has(name) ? "at least " : ""}${new Set(of.map(({ row }) => row.clusterUID)).size}`,
    oldest(of, view.now),
    until(releases(of)[0], view.now),
  ]);
  return fittingLines(["POLICY", "CLUSTERS", "OLDEST", "NEXT RELEASE"], rows, view);
}

/** All policies that hold an operation must release it, so the last one decides. */
function clusterLines({ held }: HeldFleet, view: HeldView): string[] {
  const groups = [...Map.groupBy(held, ({ row }) => `${clusterOfRow(row)} ${row.hook}`).values()];
  const rows = groups.map((of) => {
    const [cluster = "", hook = ""] = of[0] === undefined ? [] : cells(of[0], view);
    const policies = of.map(({ policy }) => shortName(policy)).join(",");
    const times = releases(of);
    const last = times.length === of.length ? times.at(-1) : undefined;
    return [cluster, hook, policies, oldest(of, view.now), until(last, view.now)];
  });
  return fittingLines(["CLUSTER", "HOOK", "POLICIES", "HELD", "RELEASE"], rows, view);
}

function oldest(rows: readonly HeldOperation[], now: Date): string {
  return ageText(Math.max(...rows.map(({ row }) => now.getTime() - Date.parse(row.firstAsked))));
}

function releases(rows: readonly HeldOperation[]): string[] {
  return rows.flatMap(({ row }) => row.earliestRelease ?? []).toSorted();
}

/** One for each Cluster, and one for those beyond the first. */
export function tornDownNotes({ held }: HeldFleet): string[] {
  const notes = new Map(
    held.flatMap(({ row: { tornDown, ...row } }) => {
      const cluster = clusterOfRow(row);
      return tornDown === undefined
        ? []
        : [[cluster, `${cluster} is torn down: ${tornDown.message}`] as const];
    }),
  );
  const more = notes.size - SHOWN;
  const rest = more > 0 ? [`torn down as well: ${counted(more, "other held Cluster")}`] : [];
  return [...[...notes.values()].slice(0, SHOWN), ...rest].map((note) => `ALARM: ${note}`);
}

export function heldNotes(fleet: HeldFleet, now: Date): Advice[] {
  const { namespace, omitted, wouldBlock, wouldBlockMore, gone } = fleet;
  const notCalled = fleet.notCalled.map(({ policy, reason }) => `${policyName(policy)} (${reason})`);
  return [
    notCalled.length > 0 &&
      advice`Cluster API does not call the hooks of ${firstNames(notCalled)}; ${SEE_DOCTOR}`,
    gone.length > 0 &&
      `prepare-uninstall has stopped the operator, so these hold nothing until one runs again: ${firstNames(gone.map(policyName))}`,
    ...ageNotes(fleet, now),
    ...omitted.map(({ policy, count }) => {
      const isOfOthers = namespace !== undefined && policy.namespace === undefined;
      const more = `${count} more${isOfOthers ? " (of all namespaces)" : ""}`;
      return `and ${more} that the status of ${policyName(policy)} leaves out`;
    }),
    (wouldBlock > 0 || wouldBlockMore) &&
      `${unheldText(fleet)} would be held if their policies were not of mode Audit`,
  ].filter((note) => note !== false);
}

function unheldText({ wouldBlock, wouldBlockMore }: HeldFleet): string {
  if (wouldBlock === 0) return "an unknown number";
  return `${wouldBlockMore ? "at least " : ""}${wouldBlock} more`;
}

/** That these rows can be out of date. */
export function ageNotes(fleet: HeldFleet, now: Date): Advice[] {
  const { held, gone, operatorSeen, operatorUnread: why } = fleet;
  if (held.length === 0 && gone.length > 0) return [];
  const rows = held.map(({ row }) => row);
  const silent = silentSince(operatorSeen, rows, now);
  if (silent !== undefined)
    return [advice`${signOfLife(silent, now)}, and these rows can be out of date; ${SEE_DOCTOR}`];
  const [first, ...others] = overdue(fleet, now);
  if (first !== undefined) {
    const more = others.length === 0 ? "" : ` (and ${counted(others.length, "more policy")})`;
    const silence = operatorSeen === undefined ? ": it seems not to run, or cannot write" : "";
    return [
      advice`the operator should have updated the status of ${policyName(first.policy)} ${since(first.since, now)} ago${more}${silence}, and these rows can be out of date; ${SEE_DOCTOR}`,
    ];
  }
  if (held.length === 0 || why === undefined) return [];
  return [
    advice`${why}: whether the operator runs is unknown, and so is whether these rows are up to date; ${SEE_DOCTOR}`,
  ];
}

export function heldJson(fleet: HeldFleet, now: Date): object {
  const { held, omitted, wouldBlock, gone, notCalled, operatorSeen } = fleet;
  return {
    held: held.map(heldObject),
    omitted,
    wouldBlock,
    ...(gone.length > 0 && { operatorGone: gone }),
    notCalled,
    overdue: overdue(fleet, now),
    ...(operatorSeen !== undefined && { operatorSeen: timestamp(operatorSeen) }),
  };
}

export function heldObject({ policy, row, approvable }: HeldOperation): HeldObject {
  const { clusterUID, hook, targetVersion, rule, gate, verdict, reason, message } = row;
  const { firstAsked, since: at, earliestRelease, tornDown } = row;
  const operation = { cluster: clusterOfRow(row), clusterUID, hook, targetVersion };
  const why = { policy, rule, gate, verdict, reason, message };
  return { ...operation, ...why, firstAsked, since: at, earliestRelease, tornDown, approvable };
}

/** Held: at the start, or newly. Changed: the row is another one. Released: the policy no longer holds the operation. */
type Event = "Held" | "Changed" | "Released";

/** Returns a function that gives the lines for what has changed since its last call. */
export function heldStream(
  options: CommandWords & { readonly json: boolean },
): (fleet: HeldFleet, now: Date) => string[] {
  let known: ReadonlyMap<string, HeldOperation> = new Map();
  let isHeaded = false;
  return (fleet, now) => {
    const events = changes(known, fleet);
    known = new Map(fleet.held.map((each) => [heldKey(each), each]));
    if (events.length === 0) return [];
    if (options.json) return events.map(([event, held]) => JSON.stringify({ event, ...heldObject(held) }));
    const rows = events.map(([event, held]) => {
      const [cluster = "", ...rest] = cells(held, { now, ...options });
      return event === "Released" ? [event, cluster, ...rest.slice(0, 4), "", ""] : [event, cluster, ...rest];
    });
    const lines = tableLines(["EVENT", ...HEADINGS], rows).slice(isHeaded ? 1 : 0);
    isHeaded = true;
    return lines;
  };
}

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
