/** Sends the fleet's state to listening pages: all of it at first, then the differences. */

import type { HeldChange, HeldRow, RolloutsChange } from "../../page/wire.ts";

export interface FeedEvent {
  readonly name: "held" | "rollouts" | "lost";
  readonly data: HeldChange | RolloutsChange | { readonly message: string };
}

export type Listener = (event: FeedEvent) => void;

export class LiveFeed {
  readonly #listeners = new Set<Listener>();
  #held: ReadonlyMap<string, HeldRow> = new Map();
  #notes: readonly string[] = [];
  #rollouts: RolloutsChange = { rollouts: [] };

  /** Reports the present state at once. Returns a function that ends the listening. */
  listen(listener: Listener): () => void {
    this.#listeners.add(listener);
    const held: HeldChange = { all: true, rows: [...this.#held.values()], gone: [], notes: this.#notes };
    listener({ name: "held", data: held });
    listener({ name: "rollouts", data: this.#rollouts });
    return () => void this.#listeners.delete(listener);
  }

  setHeld(rows: readonly HeldRow[], notes: readonly string[]): void {
    const before = this.#held;
    this.#held = new Map(rows.map((row) => [row.key, row]));
    const changed = rows.filter((row) => !isSame(before.get(row.key), row));
    const gone = [...before.keys()].filter((key) => !this.#held.has(key));
    if (changed.length + gone.length === 0 && isSame(this.#notes, notes)) return;
    this.#notes = notes;
    this.#tell({ name: "held", data: { all: false, rows: changed, gone, notes } });
  }

  setRollouts(rollouts: RolloutsChange): void {
    if (isSame(this.#rollouts, rollouts)) return;
    this.#rollouts = rollouts;
    this.#tell({ name: "rollouts", data: rollouts });
  }

  lost(message: string): void {
    this.#tell({ name: "lost", data: { message } });
  }

  #tell(event: FeedEvent): void {
    for (const listener of this.#listeners) listener(event);
  }
}

function isSame(a: unknown, b: unknown): boolean {
  return JSON.stringify(a) === JSON.stringify(b);
}
