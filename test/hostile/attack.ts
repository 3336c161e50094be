/** What an attack is: it sends what no client should, and counts what came back. */

import type { Tally } from "./tally.ts";
import type { Target } from "./target.ts";

export interface Scale {
  /** Mutated requests. */
  readonly mutants: number;
  /** Connections that are held open, all together. */
  readonly connections: number;
  /** Short attacks are repeated until they have lasted so long. */
  readonly lastsMs: number;
  readonly seed: number;
}

export interface Attack {
  /** Of its rows in the result. */
  readonly id: string;
  readonly title: string;
  run(target: Target, scale: Scale, tally: Tally): Promise<void>;
}

/** One round at least, and no pause between rounds. */
export async function repeated({ lastsMs }: Scale, round: () => Promise<void>): Promise<void> {
  const ends = performance.now() + lastsMs;
  do await round();
  while (performance.now() < ends);
}
