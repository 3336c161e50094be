/** Checks the names in a suite, because a misspelt name must not make a test pass. */

import { didYouMean } from "../../lib/did-you-mean.ts";
import type { Cluster } from "../../api/meta.ts";
import { clusterKey } from "../../views/cluster.ts";
import type { Fleet } from "../fleet/fleet.ts";
import { SuiteError } from "./suite-error.ts";
import { policyName } from "../../policy/policy-ref.ts";

type Names = Partial<
  Readonly<Record<"policy" | "rule" | "gate" | "task" | "rollout" | "stage", string | undefined>>
>;

/** `policy`: "HookPolicy team-a/protect", which is named in full, "team-a/protect", "protect" or "HookPolicy/protect". */
export function namesPolicy(text: string, policy: string): boolean {
  const [kind = "", path = ""] = policy.split(" ");
  const name = path.split("/").at(-1);
  return [policy, path, name, `${kind}/${name}`].includes(text);
}

/** Throws for the first name that does not exist: of a policy, its rule, the rule's gate or task, a rollout or its stage. */
export function checkNames(
  { policy, rule, gate, task, rollout, stage }: Names,
  fleet: Pick<Fleet, "policies" | "rollouts">,
): void {
  const compiled = fleet.policies.map((each) => each.compiled);
  const meant = compiled.filter(({ ref }) => policy === undefined || namesPolicy(policy, policyName(ref)));
  const names = compiled.flatMap(({ ref }) => [policyName(ref), ref.name]);
  if (meant.length === 0) check("policy", policy, names, "there is no policy");
  const rules = meant.flatMap((each) => each.rules);
  check("rule", rule, namesOf(rules), lacks(policy, "policy", "rule"));
  const own = rules.filter(({ name }) => rule === undefined || name === rule);
  const owner = rule && `rule ${rule}`;
  const gates = own.flatMap((each) => namesOf([...each.gates, ...each.waits]));
  check("gate", gate, gates, lacks(owner, "rule", "gate"));
  const tasks = own.flatMap((each) => namesOf(each.tasks));
  check("task", task, tasks, lacks(owner, "rule", "task"));
  const rollouts = fleet.rollouts.map((each) => each.compiled);
  check("rollout", rollout, namesOf(rollouts), "there is no HookRollout");
  const stages = rollouts
    .filter(({ name }) => rollout === undefined || name === rollout)
    .flatMap((each) => namesOf(each.stages));
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
