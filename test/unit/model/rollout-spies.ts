/** What the real code of rollouts keeps to itself, and what it does next depends on: a part of the states that are explored. */

import type { MemberCluster } from "../../../src/rollouts/asked-operation.ts";
import { RolloutEntry } from "../../../src/rollouts/rollout-entry.ts";
import { RolloutQueue } from "../../../src/rollouts/rollout-queue.ts";
import { reachedVersion } from "../../../src/rollouts/health.ts";

/** What a queue was told, and when: it shows that to nobody. */
export const told = new WeakMap<RolloutQueue, Map<string, number>>();

for (const name of ["asked", "leftUnused"] as const) {
  // oxlint-disable-next-line typescript/unbound-method -- called with the `this` of its caller
  const real = RolloutQueue.prototype[name];
  RolloutQueue.prototype[name] = function spied(uid, nowMs) {
    const known = told.get(this) ?? new Map<string, number>();
    told.set(this, known.set(`${name} ${uid}`, minutes(nowMs)));
    real.call(this, uid, nowMs);
  };
}

/** The versions that the reconciler has seen reached: it keeps them to itself, and looks at members for nothing else. */
export const reached = new WeakMap<RolloutEntry, ReadonlyMap<string, string>>();

// oxlint-disable-next-line typescript/unbound-method -- called with the `this` of its caller
const { ofMembers } = RolloutEntry.prototype;
RolloutEntry.prototype.ofMembers = async function spied<T>(
  this: RolloutEntry,
  work: (known: MemberCluster) => T,
) {
  const before = reached.get(this) ?? new Map<string, string>();
  const now = new Map<string, string>();
  reached.set(this, now);
  const spy = (known: MemberCluster): T => {
    const version = reachedVersion(known.cluster, this.health(known.cluster), before);
    if (version !== undefined) now.set(known.cluster.metadata.uid, version);
    return work(known);
  };
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- the type parameter of the method
  return (await ofMembers.call(this, spy)) as T[];
};

/** Time passes in minutes here. */
export function minutes(ms: number): number {
  return Math.floor(ms / 60_000);
}
