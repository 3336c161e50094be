/** An operation that waits for a slot of a rollout, and since when. */

import { compareText } from "../lib/compare-text.ts";
import { timestamp } from "../lib/instant.ts";
import { namespacedName, type ObjectName } from "../lib/keys.ts";
import type { HookRolloutStatus } from "../api/hook-policy.ts";
import type { Cluster, ObjectMeta } from "../api/meta.ts";
import type { Member } from "./member.ts";
import type { WaitingCluster } from "./rollout-queue.ts";

export interface MemberCluster {
  readonly member: Member;
  readonly cluster: Cluster;
}

/** An operation that the Cluster shows to be wanted, without a slot that it may use. */
export interface AskedOperation extends MemberCluster {
  readonly target: string;
  readonly firstAsked: Date;
  /** Its slot was not used in time, and is free again soon. */
  readonly claimExpires: boolean;
  /** Whether it may begin once it has a slot. */
  readonly isOpen: boolean;
  /** Another rollout holds it, so that it would leave a slot of this one unused. */
  readonly isHeldElsewhere: boolean;
}

export function oldestFirst(a: AskedOperation, b: AskedOperation): number {
  const [one, other] = [a.cluster.metadata, b.cluster.metadata];
  return (
    a.firstAsked.getTime() - b.firstAsked.getTime() ||
    compareText(one.namespace ?? "", other.namespace ?? "") ||
    compareText(one.name, other.name)
  );
}

export type SinceOf = (known: Date, metadata: ObjectMeta, target: string) => Date;

/** Since when an operation waits: as memory knows it, or by the status, which outlives a restart. */
export function waitingSince({ held = [], next = [] }: HookRolloutStatus = {}): SinceOf {
  const stored = new Map([...next, ...held].map((row) => [waitKey(row, row.target), row.since]));
  return (known, metadata, target) => {
    const since = stored.get(waitKey(metadata, target));
    const { creationTimestamp: created = "" } = metadata;
    // A deleted Cluster may have had its name.
    return since !== undefined && created <= since && since < timestamp(known) ? new Date(since) : known;
  };
}

function waitKey(cluster: ObjectName, target = ""): string {
  return `${namespacedName(cluster)} ${target}`;
}

export function isQueued(operation: AskedOperation): operation is AskedOperation & WaitingCluster {
  return operation.isOpen && !operation.isHeldElsewhere && operation.member.stage !== undefined;
}
