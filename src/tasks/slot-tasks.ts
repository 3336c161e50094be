/** What HookTasks say to a HookRollout that has given a Cluster a slot for them. */

import type { RolloutClaim } from "../api/hook-policy.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import type { PolicyRef } from "../policy/policy-ref.ts";
import type { TaskRecord } from "../policy/tasks/task-record.ts";
import type { SlotTasks, SlotTaskState } from "../rollouts/rollout-reconciler.ts";
import { taskIn } from "./permit.ts";
import type { TaskMemory } from "./task-memory.ts";
import type { TaskStore } from "./task-store.ts";

interface SlotTasksOptions {
  readonly memory: Pick<TaskMemory, "ofCluster">;
  readonly store: Pick<TaskStore, "ofCluster">;
  readonly policyOf: (ref: PolicyRef) => CompiledPolicy | undefined;
}

export function slotTasks({ memory, store, policyOf }: SlotTasksOptions): SlotTasks {
  const holds = (record: TaskRecord): boolean => isHeldBy(policyOf(record.identity.policyRef), record);
  return {
    known: (claim, hook) => {
      const tasks = memory.ofCluster(claim.uid).filter((task) => !task.over && task.hook === hook);
      const records = tasks.map(({ record }) => record);
      return stateOf(claim, hook, records, holds);
    },
    read: async (claim, hook) => stateOf(claim, hook, await store.ofCluster(undefined, claim.uid), holds),
  };
}

/** Whether a failure holds the operation, because the policy still has the task as it was, and waits for it. */
export function isHeldBy(policy: CompiledPolicy | undefined, record: TaskRecord): boolean {
  const altered = record.altered !== undefined;
  const task = taskIn(policy, record.identity);
  return policy?.mode === "Enforce" && (task?.onFailure === "Hold" || (task !== undefined && altered));
}

function stateOf(
  { target = "" }: RolloutClaim,
  hook: HookName,
  all: readonly TaskRecord[],
  holds: (record: TaskRecord) => boolean,
): SlotTaskState {
  const records = all.filter(
    ({ identity, over }) => !over && identity.hook === hook && (target === "" || identity.version === target),
  );
  if (records.some(isUnfinished)) return "Unfinished";
  if (records.some((record) => hasFailed(record) && holds(record))) return "Failed";
  const ends = records.flatMap(({ endedAt }) => endedAt ?? []);
  return ends.length === 0 ? undefined : new Date(Math.max(...ends.map((end) => end.getTime())));
}

function hasFailed({ phase, altered }: TaskRecord): boolean {
  return phase === "Failed" || altered !== undefined;
}

function isUnfinished({ phase, altered }: TaskRecord): boolean {
  return altered === undefined && (phase === "Pending" || phase === "Running");
}
