/** Lists what the tasks of new and changed policies would do for each Cluster, once nothing else holds it. */

import type { TaskAction } from "../../api/hook-policy.ts";
import type { HookName } from "../../api/runtime-hooks.ts";
import { withArticle } from "../../lib/counted.ts";
import { inOwnDecision } from "../../policy/budget.ts";
import { clusterKey } from "../../views/cluster.ts";
import type { PolicyTrace } from "../../policy/decision.ts";
import type { CompiledPolicy } from "../../policy/policy.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { firstRun } from "../../policy/tasks/judge-tasks.ts";
import type { Effect } from "./change.ts";
import { renderIntent } from "../../policy/tasks/render-action.ts";
import type { Situation } from "../../policy/world.ts";
import { ruleKey } from "./spec-changes.ts";

export interface SimulatedTask {
  readonly cluster: string;
  readonly hook: HookName;
  readonly policy: string;
  readonly rule: string;
  readonly task: string;
  /** In mode Audit, it begins nothing. */
  readonly mode: CompiledPolicy["mode"];
  /** Of this namespace, as which the operator acts. */
  readonly serviceAccount: { readonly namespace: string; readonly name: string };
  /** What it does, without expressions; absent: see `problem`. */
  readonly action?: TaskAction;
  /** Why that cannot be told for this Cluster, so that the rule is not evaluable. */
  readonly problem?: string;
}

/** `policies`: in the order of the trace. `changed`: as of changedRules(). */
export function simulatedTasks(
  trace: readonly PolicyTrace[],
  policies: readonly CompiledPolicy[],
  changed: ReadonlySet<string>,
  situation: Situation,
): readonly SimulatedTask[] {
  return policies
    .map((policy, index) => ({ policy, rules: trace[index]?.rules ?? [] }))
    .filter(({ policy }) => changed.has(ruleKey(policyName(policy.ref), "")))
    .flatMap(({ policy, rules }) => rules.flatMap((rule) => tasksOf(policy, rule, situation)));
}

function tasksOf(
  policy: CompiledPolicy,
  { rule: name, tasks = [] }: PolicyTrace["rules"][number],
  situation: Situation,
): readonly SimulatedTask[] {
  const rule = policy.rules.find((each) => each.name === name);
  const { account, mode } = policy;
  if (rule === undefined || account === undefined) return [];
  const needed = new Set(tasks.filter(({ state }) => state !== "NotNeeded").map(({ task }) => task));
  return rule.tasks
    .filter((task) => needed.has(task.name))
    .map((task) => {
      const identity = firstRun(policy, rule, task, situation);
      const rendered = inOwnDecision(() => renderIntent(task, policy, identity, situation));
      return {
        cluster: clusterKey(situation.world.cluster),
        hook: situation.call.hook,
        policy: policyName(policy.ref),
        rule: name,
        task: task.name,
        mode,
        serviceAccount: account,
        ...(rendered.ok ? { action: rendered.intent.spec.action } : { problem: rendered.problem }),
      };
    });
}

/** What the task of a Cluster does, in words: alike for every Cluster for which it does the same. */
export function taskEffect({
  cluster,
  hook,
  policy,
  rule,
  task,
  mode,
  action,
  problem,
}: SimulatedTask): Effect {
  const audit = mode === "Audit" ? "; in mode Audit, it begins nothing" : "";
  const does =
    action === undefined
      ? `nothing, and the rule is not evaluable: ${problem}`
      : `${deedOf(action)}, once nothing else holds the operation${audit}`;
  return {
    title: `task ${task}`,
    tone: action === undefined ? "held" : "busy",
    hook,
    facts: [
      ["of", `${policy} ${rule}`],
      ["does", does],
    ],
    cluster,
  };
}

function deedOf({ create, apply, delete: deletion }: TaskAction): string {
  if (create !== undefined) return `creates ${withArticle(create.kind)}`;
  if (apply !== undefined) return `applies ${withArticle(apply.kind)}`;
  return `deletes ${deletion?.kind ?? "nothing"}`;
}
