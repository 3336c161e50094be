/** What HookTasks say to a HookRollout that has given a Cluster a slot for them. */

import type { RolloutClaim } from "../api/hook-policy.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import type { TaskRecord } from "../policy/tasks/task-record.ts";
import type { SlotTasks, SlotTaskState } from "../rollouts/rollout-reconciler.ts";
import type { TaskMemory } from "./task-memory.ts";
import type { TaskStore } from "./task-store.ts";

interface SlotTasksOptions {
  readonly memory: Pick<TaskMemory, "ofCluster">;
  readonly store: Pick<TaskStore, "ofCluster">;
  /** Whether the policy goes on without it. */
  readonly proceeds: (record: TaskRecord) => boolean;
}

export function slotTasks({ memory, store, proceeds }: SlotTasksOptions): SlotTasks {
  return {
    known: ({ uid, ...claim }, hook) => {
      const records = memory.ofCluster(uid).map(({ record }) => record);
      return stateOf({ uid, ...claim }, hook, records, proceeds);
    },
    read: async (claim, hook) => stateOf(claim, hook, await store.ofCluster(undefined, claim.uid), proceeds),
  };
}

function stateOf(
  { target = "" }: RolloutClaim,
  hook: HookName,
  all: readonly TaskRecord[],
  proceeds: (record: TaskRecord) => boolean,
): SlotTaskState {
  const records = all.filter(
    ({ identity, over }) => !over && identity.hook === hook && (target === "" || identity.version === target),
  );
  if (records.some(({ phase }) => phase === "Pending" || phase === "Running")) return "Open";
  if (records.some((record) => record.phase === "Failed" && !proceeds(record))) return "Failed";
  const ends = records.flatMap(({ endedAt }) => endedAt ?? []);
  return ends.length === 0 ? undefined : new Date(Math.max(...ends.map((end) => end.getTime())));
}
