/** Checks the names in a suite, because a misspelt name must not make a test pass. */

import { didYouMean } from "../../lib/did-you-mean.ts";
import type { Cluster } from "../../api/meta.ts";
import { clusterKey } from "../../policy/cluster.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { SuiteError } from "./suite-error.ts";
import { policyName, type PolicyRef } from "../../policy/policy-ref.ts";

interface Names {
  readonly policy?: string;
  readonly rule?: string;
  readonly gate?: string;
  readonly task?: string;
}

/** "protect", "team-a/protect" or "HookPolicy team-a/protect"; as for `override --policy`, "HookPolicy/protect". */
export function namesPolicy(text: string, ref: PolicyRef): boolean {
  const full = policyName(ref);
  const short = text === ref.name || text === `${ref.kind}/${ref.name}`;
  return short || text === full || `${ref.kind} ${text}` === full;
}

/** Throws for the first name that does not exist: of a policy, its rule, or the rule's gate. */
export function checkNames(
  { policy, rule, gate, task }: Names,
  policies: Fleet["policies"],
  taskField = "task",
): void {
  const compiled = policies.map((each) => each.compiled);
  const meant = compiled.filter(({ ref }) => policy === undefined || namesPolicy(policy, ref));
  const names = compiled.flatMap(({ ref }) => [policyName(ref), ref.name]);
  if (meant.length === 0) check("policy", policy, names, "there is no policy");
  const rules = meant.flatMap((each) => each.rules);
  check("rule", rule, namesOf(rules), lacks(policy, "policy", "rule"));
  const gates = rules
    .filter(({ name }) => rule === undefined || name === rule)
    .flatMap((each) => namesOf([...each.gates, ...each.waits]));
  check("gate", gate, gates, lacks(rule && `rule ${rule}`, "rule", "gate"));
  const tasks = rules
    .filter(({ name }) => rule === undefined || name === rule)
    .flatMap((each) => namesOf(each.tasks));
  check(taskField, task, tasks, lacks(rule && `rule ${rule}`, "rule", "task"));
}

/** Throws for a rollout, or a stage of it, that does not exist. */
export function checkRolloutNames(
  { rollout, stage }: { readonly rollout?: string | undefined; readonly stage?: string | undefined },
  fleet: Fleet,
): void {
  const rollouts = fleet.rollouts.map(({ compiled }) => compiled);
  check("rollout", rollout, namesOf(rollouts), "there is no HookRollout");
  const meant = rollouts.filter(({ name }) => rollout === undefined || name === rollout);
  const stages = meant.flatMap((each) => namesOf(each.stages));
  check("stage", stage, stages, lacks(rollout, "HookRollout", "stage"));
}

/** Throws if there is no Cluster of this "namespace/name". */
export function clusterNamed(key: string, fleet: Fleet, field: string): Cluster {
  const clusters = new Map(fleet.clusters().map((each) => [clusterKey(each), each]));
  const found = clusters.get(key);
  if (found !== undefined) return found;
  throw new SuiteError(`there is no Cluster ${key}${didYouMean(key, [...clusters.keys()])}`, field);
}

/** "protect has no rule", or "no policy has a rule" if the owner is not named. */
function lacks(owner: string | undefined, kind: string, part: string): string {
  return owner === undefined ? `no ${kind} has a ${part}` : `${owner} has no ${part}`;
}

function namesOf(all: readonly { readonly name: string }[]): string[] {
  return all.map(({ name }) => name);
}

/** Throws for a name that does not exist. An absent name is allowed. */
function check(field: string, name: string | undefined, names: readonly string[], what: string): void {
  if (name === undefined || names.includes(name)) return;
  throw new SuiteError(`${what} ${JSON.stringify(name)}${didYouMean(name, names)}`, field);
}
