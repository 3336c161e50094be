/** Prints changes of what is held, one line each: for `hookpolicy get -w` in a pipe. */

import { policyName } from "../../policy/policyref.ts";
import { width } from "../terminal/colour.ts";
import { row } from "../terminal/table.ts";
import { type Held, type HeldFleet, heldKey } from "./held.ts";
import { cells, type CommandWords, HEADINGS, heldObject } from "./report.ts";

/** Held: at the start, or newly. Changed: the row is another one. Released: the policy no longer holds the operation. */
type Event = "Held" | "Changed" | "Released";

interface StreamOptions extends CommandWords {
  readonly json: boolean;
}

export class HeldStream {
  readonly #options: StreamOptions;
  #known: ReadonlyMap<string, Held> = new Map();
  #widths: readonly number[] = [];

  constructor(options: StreamOptions) {
    this.#options = options;
  }

  /** The lines for what has changed. */
  next({ held, omitted }: HeldFleet, now: Date): string[] {
    const before = this.#known;
    this.#known = new Map(held.map((each) => [heldKey(each), each]));
    // The policy may still hold an operation that has lost its row in a full status.
    const short = new Set(omitted.map(({ policy }) => policyName(policy)));
    const gone = [...before].flatMap(([key, each]): [Event, Held][] =>
      this.#known.has(key) || short.has(policyName(each.policy)) ? [] : [["Released", each]],
    );
    const news = held.flatMap((each): [Event, Held][] => {
      const known = before.get(heldKey(each));
      if (known === undefined) return [["Held", each]];
      return JSON.stringify(known.row) === JSON.stringify(each.row) ? [] : [["Changed", each]];
    });
    return this.#lines([...gone, ...news], now);
  }

  #lines(events: readonly (readonly [Event, Held])[], now: Date): string[] {
    if (this.#options.json) {
      return events.map(([event, held]) => JSON.stringify({ event, ...heldObject(held) }));
    }
    const rows = events.map(([event, held]) => {
      const [cluster = "", ...rest] = cells(held, { now, ...this.#options });
      return event === "Released" ? [event, cluster, ...rest.slice(0, 4), "", ""] : [event, cluster, ...rest];
    });
    const headings =
      this.#widths.length === 0 && rows.length > 0
        ? [["EVENT".padEnd("Released".length), ...HEADINGS, "UNBLOCK"]]
        : [];
    return [...headings, ...rows].map((each, _, all) => this.#line(each, all));
  }

  /** Columns only grow, as with kubectl. */
  #line(line: readonly string[], all: readonly (readonly string[])[]): string {
    this.#widths = line.map((_, column) =>
      Math.max(this.#widths[column] ?? 0, ...all.map((other) => width(other[column] ?? ""))),
    );
    return row(line, this.#widths);
  }
}
