/** What an attack is: it sends what no client should, and counts what came back. */

import type { Tally } from "./tally.ts";
import type { Target } from "./target.ts";

export interface Scale {
  /** Mutated requests. */
  readonly mutants: number;
  /** Connections that are held open, all together. */
  readonly connections: number;
  /** How often short attacks are repeated. */
  readonly rounds: number;
  readonly seed: number;
}

export interface Attack {
  /** Of its rows in the result. */
  readonly id: string;
  readonly title: string;
  run(target: Target, scale: Scale, tally: Tally): Promise<void>;
}
