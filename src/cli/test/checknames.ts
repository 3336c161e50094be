/** Checks the names in a suite: a misspelt name must not make a test pass. */

import { didYouMean } from "../../policy/validation/fieldmessage.ts";
import type { CompiledPolicy, CompiledRule } from "../../policy/policy.ts";
import type { CompiledRollout } from "../../rollouts/rollout.ts";
import { SuiteError } from "./suiteerror.ts";
import { policyName, type PolicyRef } from "../../policy/policyref.ts";

interface Names {
  readonly policy?: string;
  readonly rule?: string;
  readonly gate?: string;
}

/** "protect", "team-a/protect" or "HookPolicy team-a/protect". */
export function namesPolicy(text: string, ref: PolicyRef): boolean {
  const full = policyName(ref);
  return text === full || text === ref.name || `${ref.kind} ${text}` === full;
}

/** Throws for the first name that does not exist: of a policy, its rule, or the rule's gate. */
export function checkNames({ policy, rule, gate }: Names, policies: readonly CompiledPolicy[]): void {
  const meant = policies.filter(({ ref }) => policy === undefined || namesPolicy(policy, ref));
  if (policy !== undefined && meant.length === 0) {
    const names = policies.flatMap(({ ref }) => [policyName(ref), ref.name]);
    throw unknown("policy", "there is no policy", policy, names);
  }
  const rules = meant.flatMap((each) => each.rules).filter(({ name }) => rule === undefined || name === rule);
  if (rule !== undefined && rules.length === 0) {
    const names = meant.flatMap((each) => each.rules.map(({ name }) => name));
    throw unknown("rule", lacks(policy, "policy", "rule"), rule, names);
  }
  const gates = rules.flatMap(gatesOf);
  if (gate !== undefined && !gates.includes(gate)) {
    throw unknown("gate", lacks(rule && `rule ${rule}`, "rule", "gate"), gate, gates);
  }
}

/** Throws for a rollout, or a stage of it, that does not exist. */
export function checkRolloutNames(
  { rollout, stage }: { readonly rollout?: string | undefined; readonly stage?: string | undefined },
  rollouts: readonly CompiledRollout[],
): void {
  const meant = rollouts.filter(({ name }) => rollout === undefined || name === rollout);
  if (rollout !== undefined && meant.length === 0) {
    const names = rollouts.map(({ name }) => name);
    throw unknown("rollout", "there is no HookRollout", rollout, names);
  }
  const stages = meant.flatMap((each) => each.stages.map(({ name }) => name));
  if (stage !== undefined && !stages.includes(stage))
    throw unknown("stage", lacks(rollout, "HookRollout", "stage"), stage, stages);
}

/** "protect has no rule", or "no policy has a rule" if the owner is not named. */
function lacks(owner: string | undefined, kind: string, part: string): string {
  return owner === undefined ? `no ${kind} has a ${part}` : `${owner} has no ${part}`;
}

function gatesOf({ gates, waits }: CompiledRule): string[] {
  return [...gates, ...waits].map(({ name }) => name);
}

function unknown(
  field: keyof Names | "rollout" | "stage",
  what: string,
  name: string,
  names: readonly string[],
): SuiteError {
  const hint = didYouMean(name, names);
  return new SuiteError(`${what} ${JSON.stringify(name)}${hint}`, field);
}
