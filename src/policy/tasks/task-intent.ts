/** The HookTasks that a decision lets begin. */

import type { HookTaskSpec, TaskAction } from "../../api/hook-policy.ts";
import type { CompiledPolicy } from "../policy.ts";
import type { Situation } from "../world.ts";
import type { CompiledTask, TaskServiceAccount } from "./compiled-task.ts";
import { renderAction } from "./render-action.ts";
import { renderedHash, type TaskIdentity, taskName } from "./task-identity.ts";
import type { TaskIntent } from "./task-trace.ts";

export type RenderedIntent =
  | { readonly ok: true; readonly intent: TaskIntent }
  | { readonly ok: false; readonly problem: string; readonly exhausted?: true };

export function renderIntent(
  task: CompiledTask,
  { ref, account }: Pick<CompiledPolicy, "ref" | "account">,
  identity: TaskIdentity,
  { world: { cluster, namespace }, call, now }: Situation,
): RenderedIntent {
  if (account === undefined) return { ok: false, problem: "its policy names no ServiceAccount" };
  const rendered = renderAction(task, { policy: ref, account }, { cluster, namespace, call, now });
  if (!rendered.ok) return rendered;
  const { action } = rendered;
  const spec = specOf(task, { account, identity, action }, call);
  const name = taskName(identity);
  return { ok: true, intent: { identity, name, namespace: account.namespace, account, task, action, spec } };
}

interface Parts {
  readonly account: TaskServiceAccount;
  readonly identity: TaskIdentity;
  readonly action: TaskAction;
}

function specOf(
  { succeeded, failed, timeout, retries }: CompiledTask,
  { account, identity, action }: Parts,
  { fromKubernetesVersion, toKubernetesVersion, kubernetesVersion }: Situation["call"],
): HookTaskSpec {
  const {
    policy,
    policyUID,
    rule,
    task,
    action: hash,
    cluster,
    clusterUID,
    hook,
    version,
    step,
    run,
  } = identity;
  const request = {
    ...(fromKubernetesVersion !== undefined && { fromKubernetesVersion }),
    ...(toKubernetesVersion !== undefined && { toKubernetesVersion }),
    ...(kubernetesVersion !== undefined && { kubernetesVersion }),
  };
  return {
    policyRef: { ...policy, uid: policyUID },
    rule,
    task,
    clusterRef: { ...cluster, uid: clusterUID },
    hook,
    ...(version !== undefined && { version }),
    ...(step !== undefined && { step }),
    run,
    actionHash: hash,
    serviceAccountName: account.name,
    ...(Object.keys(request).length > 0 && { request }),
    action,
    renderedHash: renderedHash(action),
    ...(succeeded !== undefined && { succeeded }),
    ...(failed !== undefined && { failed }),
    timeout,
    retries,
  };
}
