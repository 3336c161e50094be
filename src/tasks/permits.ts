/** Whether attempts may begin: from memory, which costs nothing, and then from what the API server has now. */

import type { HookTask, HookTaskSpec, TaskAttempt } from "../api/hook-policy.ts";
import type { ServedHooks } from "../api/hook-catalog.ts";
import type { Cluster, ObjectMeta, StoredNamespace } from "../api/meta.ts";
import { durationOrNever } from "../lib/duration.ts";
import { namespacedName } from "../lib/keys.ts";
import { overrideKey } from "../memory/override-set.ts";
import type { PolicySet } from "../memory/policy-set.ts";
import type { DecisionStore } from "../memory/decision-store.ts";
import type { Lister } from "../memory/memory.ts";
import type { LiveReader } from "../decisions/live-reads.ts";
import type { PolicyApi } from "../status/policy-api.ts";
import type { RolloutApi } from "../rollouts/rollout-api.ts";
import type { PolicyRef } from "../policy/policy-ref.ts";
import { TASK_DEFAULTS } from "../policy/tasks/compile-task.ts";
import { hidesTask, isOperationOver, type Permit, permitOf, type PermitWorld, taskIn } from "./permit.ts";
import { isCarriedOut, lastAttempt, objectName, openAttempt } from "./task-progress.ts";
import type { StoredTask } from "./stored-task.ts";
import type { TaskMemory } from "./task-memory.ts";

/** Quorum reads (no resourceVersion); each rejects when it cannot be answered. */
export interface PermitReader
  extends Pick<RolloutApi, "findCluster">, Pick<PolicyApi, "findNamespace">, Pick<LiveReader, "overrides"> {
  /** `undefined`: there is none of this name. */
  findPolicy(ref: PolicyRef): Promise<ObjectMeta | undefined>;
}

export interface PermitsOptions {
  readonly memory: TaskMemory;
  readonly store: Pick<DecisionStore, "policies" | "overrides">;
  readonly clusters: Pick<Lister<Cluster>, "get">;
  readonly namespaces: Pick<Lister<StoredNamespace>, "get">;
  readonly reader: PermitReader;
  readonly served: ServedHooks;
  /** Whether a HookRollout selects the Cluster and has no slot for it. */
  readonly lacksSlot: (cluster: Cluster, hook: HookTaskSpec["hook"]) => boolean;
  readonly now: () => Date;
}

export class Permits {
  readonly #options: PermitsOptions;

  constructor(options: PermitsOptions) {
    this.#options = options;
  }

  clusterOf({ namespace, name, uid }: HookTaskSpec["clusterRef"]): Cluster | undefined {
    const cluster = this.#options.clusters.get(namespacedName({ namespace, name }));
    return cluster?.metadata.uid === uid ? cluster : undefined;
  }

  isOver(task: HookTask, cluster: Cluster | undefined): boolean {
    const { store, served } = this.#options;
    return isOperationOver(task, cluster, served, store.policies.compiledOf(task.spec.policyRef));
  }

  /** The same, by a quorum read (no resourceVersion). */
  async isOverNow(task: HookTask): Promise<boolean> {
    const { namespace, name } = task.spec.clusterRef;
    return this.isOver(task, await this.#options.reader.findCluster(namespace, name));
  }

  /** Whether another version is wanted, so that no hook has passed. */
  isTakenBack({ version, step, clusterRef }: HookTaskSpec): boolean {
    const wanted = this.clusterOf(clusterRef)?.topology?.version;
    return version !== undefined && wanted !== undefined && wanted !== (step ?? version);
  }

  /** The default for a task that its policy does not have any more; Infinity: not known now. */
  keepMs(spec: HookTaskSpec): number {
    const policy = this.#options.store.policies.compiledOf(spec.policyRef);
    if (hidesTask(policy, spec)) return Infinity;
    return taskIn(policy, spec)?.keepMs ?? durationOrNever(TASK_DEFAULTS.keep);
  }

  fromMemory(task: HookTask): Permit {
    const { clusterRef } = task.spec;
    const namespace = this.#options.namespaces.get(clusterRef.namespace);
    return this.#permit(task, { cluster: this.clusterOf(clusterRef), namespace });
  }

  /** Waits where memory does not have the policy or the overrides as they are: their specs are compiled from there. */
  async now(task: HookTask): Promise<Permit> {
    const { reader, store } = this.#options;
    const { clusterRef, policyRef } = task.spec;
    const [cluster, namespace, policy, overrides] = await Promise.all([
      reader.findCluster(clusterRef.namespace, clusterRef.name),
      reader.findNamespace(clusterRef.namespace),
      reader.findPolicy(policyRef),
      reader.overrides(),
    ]);
    if (policy?.uid !== policyRef.uid) return { may: "Never", why: "the policy is gone" };
    const known = store.policies.compiledOf(policyRef);
    if (known?.uid !== policy.uid || known.generation !== policy.generation) return { may: "Wait" };
    const areKnown = overrides.every(({ name, uid, generation }) => {
      const compiled = store.overrides.get(overrideKey(name))?.compiled;
      return compiled?.uid === uid && compiled.generation === generation;
    });
    return areKnown ? this.#permit(task, { cluster, namespace }) : { may: "Wait" };
  }

  #permit(task: HookTask, seen: Pick<PermitWorld, "cluster" | "namespace">): Permit {
    const { policies, overrides } = this.#options.store;
    const { served, now } = this.#options;
    const policy = policies.compiledOf(task.spec.policyRef);
    const permit = permitOf(task, { ...seen, policy, overrides, served, now: now() });
    if (permit.may === "Never") return permit;
    const wait = waitForOther(task, seen.cluster, policies, this.#options);
    return wait === undefined || (permit.may === "Wait" && wait.why === undefined) ? permit : wait;
  }

  /** The attempts of other HookTasks of the task whose objects may still be at work. */
  leftBehind(task: HookTask): readonly (readonly [HookTask, TaskAttempt])[] {
    return this.#options.memory
      .othersLike(task)
      .map(({ outline }) => outline)
      .filter(({ spec }) => spec.action.create !== undefined)
      .flatMap((outline) => {
        const last = lastAttempt(outline.status);
        const mayLast = last?.outcome !== undefined && MAY_LAST.has(last.outcome);
        return mayLast ? [[outline, last] as const] : [];
      });
  }
}

type Wait = Extract<Permit, { may: "Wait" }>;

/** While another run of the task is under way, the HookTask before it has not ended well, or a HookRollout has no slot. */
export function waitForOther(
  task: HookTask,
  cluster: Cluster | undefined,
  policies: Pick<PolicySet, "compiledOf">,
  { memory, lacksSlot }: Pick<PermitsOptions, "memory" | "lacksSlot">,
): Wait | undefined {
  const { metadata, spec } = task;
  const other = memory.othersLike(task).find(({ isRunning }) => isRunning);
  if (other !== undefined) return { may: "Wait", why: whyWait(other) };
  if (spec.after !== undefined) {
    const before = memory.get(namespacedName({ namespace: metadata.namespace ?? "", name: spec.after }));
    if (before === undefined || before.altered) return { may: "Wait" };
    if (!hasPassed(before, policies)) return { may: "Wait", why: whyAfter(before) };
  }
  const needsSlot = taskIn(policies.compiledOf(spec.policyRef), spec)?.begins === "Last";
  const isSlotMissing = needsSlot && cluster !== undefined && lacksSlot(cluster, spec.hook);
  return isSlotMissing ? { may: "Wait" } : undefined;
}

function hasPassed(before: StoredTask, policies: Pick<PolicySet, "compiledOf">): boolean {
  if (before.phase !== "Failed") return before.phase === "Succeeded";
  const { spec } = before.outline;
  return taskIn(policies.compiledOf(spec.policyRef), spec)?.onFailure === "Proceed";
}

/** `undefined`: it may still end well by itself. */
function whyAfter({ metadata, phase, over }: StoredTask): string | undefined {
  const name = namespacedName(metadata);
  if (over) return `HookTask ${name}, the one before it, has not succeeded, so this one does not begin`;
  return phase === "Failed"
    ? `HookTask ${name}, the one before it, has failed (hookpolicy task retry ${name})`
    : undefined;
}

/**
 * `undefined`: it ends by itself. One that is not known to have created its object may have: the answer was lost, or the
 * operator has restarted.
 */
function whyWait({
  metadata: { namespace = "", name },
  outline: { spec, status },
}: StoredTask): string | undefined {
  const open = openAttempt(status);
  if (open === undefined || isCarriedOut(open) || spec.action.delete !== undefined) return undefined;
  const remedy = `see that there is no ${objectName(spec, open)}, then kubectl delete hooktask -n ${namespace} ${name}`;
  return `HookTask ${namespace}/${name}, an earlier one of this task, has not ended (to end it, ${remedy})`;
}

/** Outcomes after which the object of an attempt may still be at work. */
const MAY_LAST: ReadonlySet<string> = new Set(["TimedOut", "Failed", "Cancelled"]);
