/** Prints changes of what is held, one line each: for `hookpolicy get -w` in a pipe. */

import { policyName } from "../../policy/policy-ref.ts";
import { width } from "../terminal/colour.ts";
import { row } from "../terminal/table.ts";
import { type HeldOperation, type HeldFleet, heldKey } from "./held.ts";
import { cells, type CommandWords, HEADINGS, heldObject } from "./report.ts";

/** Held: at the start, or newly. Changed: the row is another one. Released: the policy no longer holds the operation. */
type Event = "Held" | "Changed" | "Released";

interface StreamOptions extends CommandWords {
  readonly json: boolean;
}

/** Returns a function that gives the lines for what has changed since its last call. */
export function heldStream(options: StreamOptions): (fleet: HeldFleet, now: Date) => string[] {
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
    return lines.map((line) => row(line, widths));
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
