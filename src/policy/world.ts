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
  /** Earlier ones, by the uid of the policy whose own status says so: they count for that policy alone. */
  readonly saidBy?: ReadonlyMap<string, Date>;
  /** Only those policies know of it: the Cluster itself has not shown yet that it is asked for. */
  readonly hearsay?: boolean;
  /** By timerKey(); only rules with a deadline or a wait have an entry. */
  readonly rules: ReadonlyMap<string, RuleTimers>;
}

/** As it counts for one policy; `undefined`: it is asked for now, for the first time. */
export function firstAskedBy({ firstAsked, saidBy, hearsay }: Asked, policyUID: string): Date | undefined {
  return saidBy?.get(policyUID) ?? (hearsay === true ? undefined : firstAsked);
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

/** Of the world, what was just read from the API server. */
export type LiveWorld = Pick<World, "cluster" | "namespace" | "objects" | "overrides">;
