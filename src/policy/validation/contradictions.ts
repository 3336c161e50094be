/** Gates that nothing can meet, and clocks that never matter: legal, but never intended. */

import { CATALOG } from "../../api/hook-catalog.ts";
import type { RuleSpec } from "../../api/hook-policy.ts";
import { conditionsOf } from "../gates/gates.ts";
import { lateWaits } from "../gates/wait.ts";
import type { FieldError } from "./schema.ts";
import { gatesOf } from "./sound-parts.ts";

/** For a rule that fits the schema. All of its gates must be met at the same time, but of members only one. */
export function contradictions(rule: RuleSpec, path: string): readonly FieldError[] {
  const conditions = gatesOf(rule, path).flatMap(({ gate, path: at }) =>
    conditionsOf(gate, at).map((each) => ({ ...each, name: gate.name, isMember: at.includes(".anyOf[") })),
  );
  const never = conditions.flatMap(({ field, kind, spec, place, isMember }, index) => {
    const before = isMember ? [] : conditions.slice(0, index);
    const earlier = before.filter((each) => each.field === field && !each.isMember);
    return (kind.contradicts?.(spec, earlier) ?? []).map(place);
  });
  return [
    ...lateWaits(rule, path),
    ...never.map(({ path: at, why }) => {
      return { path: at, id: "gate-never-met", message: `the gate is never met: ${why}` };
    }),
  ];
}

export const UNTIL_MISSING = "until-missing";

/**
 * Rules whose authors have probably forgotten `until`: they have fields for what a rule holds, or name only hooks that can be
 * held. A policy in mode Audit of which no rule holds observes, and means to.
 */
export function untilMissing(rules: readonly RuleSpec[], mode?: unknown): FieldError[] {
  const meansToObserve =
    mode === "Audit" && !rules.some(({ until, tasks }) => (until ?? tasks) !== undefined);
  return rules.flatMap(({ hooks, until, tasks, message: said, retryAfterSeconds }, index) => {
    const waiting = hooks.filter((hook) => CATALOG[hook].blocksSince !== undefined);
    if ((until ?? tasks) !== undefined || waiting.length === 0) return [];
    const of = said === undefined ? "retryAfterSeconds" : "message";
    const idle = (said ?? retryAfterSeconds) === undefined ? undefined : of;
    // A hook that nothing can hold says that the rule means to observe.
    if (idle === undefined && (meansToObserve || waiting.length < hooks.length)) return [];
    const message =
      idle === undefined
        ? "the rule has no until: it only observes, and holds nothing. Add until, or make a policy in mode Audit of what only observes"
        : `has no effect, because the rule has no until: it only observes, and holds nothing. Add until, or remove ${idle}`;
    return [{ path: `spec.rules[${index}].${idle ?? "hooks"}`, id: UNTIL_MISSING, message }];
  });
}
