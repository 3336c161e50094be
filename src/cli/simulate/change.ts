/** A difference between two sets of policies, and the words for it. Flags name them, so nothing is loaded with them. */

import type { HookName } from "../../api/runtime-hooks.ts";
import type { SimulatedEffect } from "../../page/wire.ts";
import type { Operation } from "../../operations/beginnings.ts";
import type { Doubt, SimulatedAnswer } from "./answer.ts";

export const CHANGES = ["newly-blocked", "newly-allowed", "changed-reason", "unknown"] as const;
export type ChangeKind = (typeof CHANGES)[number];

export interface SimulatedChange {
  readonly change: ChangeKind;
  readonly cluster: string;
  readonly hook: HookName;
  /** Set for a request at admission, which is judged by the rules on this hook. */
  readonly request?: Operation;
  readonly before: SimulatedAnswer;
  readonly after: SimulatedAnswer;
  /** The first instant of the change within a time range. */
  readonly from: Date;
  /** The total duration of the change within the range. */
  readonly seconds: number;
  /** What could not be evaluated, of an unknown change. */
  readonly doubts?: readonly Doubt[];
}

/** A change, or what a task would do, in words for one Cluster. */
export type Effect = Omit<SimulatedEffect, "clusters"> & Pick<SimulatedChange, "cluster">;
