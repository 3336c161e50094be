/** Follows what the server pushes: the held operations and the rollouts. */

import { changedRows } from "./held-rows.ts";
import type { HeldChange, HeldRow, RolloutsChange } from "./wire.ts";

export interface Live {
  readonly connected: boolean;
  readonly isReady: boolean;
  readonly lost: string | undefined;
  readonly rows: readonly HeldRow[];
  readonly notes: readonly string[];
  readonly rollouts: RolloutsChange;
}

export const NOT_LIVE: Live = {
  connected: true,
  isReady: false,
  lost: undefined,
  rows: [],
  notes: [],
  rollouts: { rollouts: [] },
};

/** Returns a function that ends the connection. The browser reconnects by itself and then receives everything again. */
export function connectLive(onChange: (live: Live) => void): () => void {
  let live = NOT_LIVE;
  const source = new EventSource("events");
  const update = (change: Partial<Live>): void => {
    live = { ...live, ...change };
    onChange(live);
  };
  const on = (name: string, use: (text: string) => Partial<Live>): void =>
    source.addEventListener(name, (event: MessageEvent<string>) => update(use(event.data)));
  source.addEventListener("open", () => update({ connected: true }));
  source.addEventListener("error", () => update({ connected: false }));
  on("held", (text) => {
    const change: HeldChange = JSON.parse(text);
    return { isReady: true, lost: undefined, rows: changedRows(live.rows, change), notes: change.notes };
  });
  on("rollouts", (text) => ({ lost: undefined, rollouts: JSON.parse(text) }));
  on("lost", (text) => ({ lost: String(JSON.parse(text).message) }));
  return () => source.close();
}
