/** Follows what the server pushes: the held operations and the rollouts. */

import type { LiveState } from "./wire.ts";

export interface LiveFleet extends LiveState {
  readonly connected: boolean;
  readonly isReady: boolean;
}

export const NOT_LIVE: LiveFleet = {
  connected: true,
  isReady: false,
  rows: [],
  notes: [],
  unread: [],
  rollouts: [],
};

/** Returns a function that ends the connection. The browser reconnects by itself and then receives everything again. */
export function connectLive(onChange: (change: (live: LiveFleet) => LiveFleet) => void): () => void {
  const source = new EventSource("events");
  source.addEventListener("open", () => onChange((live) => ({ ...live, connected: true })));
  source.addEventListener("error", () => onChange((live) => ({ ...live, connected: false })));
  source.addEventListener("message", ({ data }: MessageEvent<string>) => {
    const state: LiveState = JSON.parse(data);
    onChange(() => ({ ...state, connected: true, isReady: true }));
  });
  return () => source.close();
}
