/** Finds the rules that change or are removed, and without which every Cluster gets the same answer as before. */

import type { AnswerRule } from "./answer.ts";
import type { Change } from "./comparison.ts";
import { ruleKey } from "./doubt.ts";
import type { SpecChange } from "./spec-changes.ts";

/**
 * "HookPolicy team-a/backups fresh". Only what Clusters show now is compared, so the rule can be looser or stricter all the
 * same: for example, for an approval that none of them has yet. `changed`: by changedRules().
 */
export function unseenChanges(
  changed: ReadonlySet<string>,
  specs: readonly SpecChange[],
  changes: readonly Change[],
): readonly string[] {
  const seen = new Set(changes.flatMap(rulesIn));
  // A new policy or rollout can only hold more, a new override only less.
  const edited = specs
    .filter(({ object, change }) => change !== "added" || object.startsWith("HookOverride "))
    .map(({ object }) => object);
  return edited.flatMap((object) => {
    const all = [...changed].filter((key) => key.startsWith(`${object} `) && isOne(key, object));
    return all.filter((key) => !seen.has(key)).map((key) => key.trimEnd());
  });
}

/** A rollout or an override has no rules, and counts as a whole; of a policy, each rule counts. */
function isOne(key: string, object: string): boolean {
  return /^Hook(?:Rollout|Override) /.test(object) === (key === ruleKey(object, ""));
}

/** The rules of which the answers differ, or that are the doubt. */
function rulesIn({ before, after, doubts = [] }: Change): readonly string[] {
  // The same rule with the same reason no longer holds, or now does, when its policy's mode changes.
  const isOther = before.holds !== after.holds;
  const [old, now] = [before, after].map(({ rules }) => new Set(rules.map(textOf)));
  const differing = [
    ...before.rules.filter((rule) => isOther || now?.has(textOf(rule)) === false),
    ...after.rules.filter((rule) => isOther || old?.has(textOf(rule)) === false),
  ];
  return [...differing, ...doubts].map(({ policy, rule }) =>
    ruleKey(policy, policy.startsWith("HookRollout ") ? "" : rule),
  );
}

function textOf({ policy, rule, gate, reason }: AnswerRule): string {
  return JSON.stringify([policy, rule, gate, reason]);
}
