/** What HookTasks say to a HookRollout that has given a Cluster a slot for them. */

import type { HookRollout, HookRolloutStatus, RolloutClaim } from "../api/hook-policy.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import type { CompiledPolicy } from "../policy/policy.ts";
import type { TaskRecord } from "../policy/tasks/task-record.ts";
import type { SlotTasks, SlotTaskState } from "../rollouts/rollout-reconciler.ts";
import type { PolicySet } from "../memory/policy-set.ts";
import { isSameSpec } from "../memory/same-object.ts";
import { hidesTask, taskIn } from "./permit.ts";
import type { TaskMemory } from "./task-memory.ts";
import type { TaskStore } from "./task-store.ts";

interface SlotTasksOptions {
  readonly memory: Pick<TaskMemory, "ofCluster">;
  readonly store: Pick<TaskStore, "ofCluster">;
  readonly policies: Pick<PolicySet, "compiledOf">;
}

export function slotTasks({ memory, store, policies }: SlotTasksOptions): SlotTasks {
  const needsPerson = (record: TaskRecord): boolean => {
    const policy = policies.compiledOf(record.identity.policyRef);
    return isUnfinished(record)
      ? isBetweenAttempts(record) && hidesTask(policy, record.identity)
      : isHeldBy(policy, record);
  };
  return {
    known: (claim, hook) => {
      const tasks = memory.ofCluster(claim.uid).filter((task) => !task.over && task.hook === hook);
      const records = tasks.map(({ record }) => record);
      return stateOf(claim, hook, records, needsPerson);
    },
    read: async (claim, hook) =>
      stateOf(claim, hook, await store.ofCluster(undefined, claim.uid), needsPerson),
  };
}

/**
 * The uids of the Clusters whose slot, or whose failure, is another one: all that tasks look at. `undefined`: of any, because the
 * spec has changed.
 */
export function changedSlots(
  before: HookRollout | undefined,
  now: HookRollout | undefined,
): ReadonlySet<string> | undefined {
  if (before === undefined || now === undefined || !isSameSpec(before, now)) return undefined;
  const [had, has] = [before, now].map(({ status }) => slotsIn(status));
  const all = [...(had?.keys() ?? []), ...(has?.keys() ?? [])];
  return new Set(all.filter((uid) => had?.get(uid) !== has?.get(uid)));
}

function slotsIn({ running = [], failed = [] }: HookRolloutStatus = {}): ReadonlyMap<string, string> {
  const slots = new Map(
    running.map(({ uid, target, claimed, tasks }) => [uid, `${target} ${claimed} ${tasks}`]),
  );
  for (const { uid, target, reason } of failed) slots.set(uid, `${slots.get(uid)} ${target} ${reason}`);
  return slots;
}

/** Whether a failure holds the operation, because the policy still has the task as it was, and waits for it. */
export function isHeldBy(policy: CompiledPolicy | undefined, record: TaskRecord): boolean {
  const task = taskIn(policy, record.identity);
  return policy?.mode === "Enforce" && (task?.onFailure === "Hold" || (task !== undefined && record.altered));
}

function stateOf(
  { target = "" }: RolloutClaim,
  hook: HookName,
  all: readonly TaskRecord[],
  needsPerson: (record: TaskRecord) => boolean,
): SlotTaskState {
  const records = all.filter(
    ({ identity, over }) => !over && identity.hook === hook && (target === "" || identity.version === target),
  );
  const stuck = records.filter(
    (record) => (isUnfinished(record) || hasFailed(record)) && needsPerson(record),
  );
  if (records.some((record) => isUnfinished(record) && !stuck.includes(record))) return "Unfinished";
  if (stuck.length > 0) return "Failed";
  const ends = records.flatMap(({ endedAt }) => endedAt ?? []);
  return ends.length === 0 ? undefined : new Date(Math.max(...ends.map((end) => end.getTime())));
}

function hasFailed({ phase, altered }: TaskRecord): boolean {
  return phase === "Failed" || altered;
}

function isUnfinished({ phase, altered }: TaskRecord): boolean {
  return !altered && (phase === "Pending" || phase === "Running");
}

/** None begins while the policy does not show the task. One that has begun ends by itself. */
function isBetweenAttempts({ attempts, nextAttempt }: TaskRecord): boolean {
  return attempts === 0 || nextAttempt !== undefined;
}
