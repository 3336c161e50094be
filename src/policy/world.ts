/** What decide() looks at besides the policies, the call and the clock: plain data, gathered by the caller. */

import type { Cluster, Namespace } from "../api/meta.ts";
import type { ObjectReader } from "./objects.ts";
import type { Override } from "./override.ts";

/** Everything a decision about one operation may look at besides the policies, the call and the clock. */
export interface World {
  readonly cluster: Cluster;
  /** `undefined`: not known; what depends on it is not evaluable. */
  readonly namespace: Namespace | undefined;
  /** What object gates look at. */
  readonly objects: ObjectReader;
  /** Those of this Cluster, expired ones or not. */
  readonly overrides: readonly Override[];
  /** What is remembered of this operation; absent: it is asked for now, for the first time. */
  readonly asked?: Asked;
}

/** What is remembered of an operation between calls. */
export interface Asked {
  readonly firstAsked: Date;
  /** By timerKey(); only rules with a deadline or a wait have an entry. */
  readonly rules: ReadonlyMap<string, RuleTimers>;
}

export interface RuleTimers {
  /** When the rule held the operation for the first time: its deadline counts from here. */
  readonly blockedSince?: Date;
  /** Since when all gates but the waits hold without a break: waits count from here. */
  readonly gatesMetSince?: Date;
}

export function timerKey(policyUID: string, rule: string): string {
  return `${policyUID}/${rule}`;
}
