/** Gates that nothing can meet, and clocks that never matter: legal, but never intended. */

import { CATALOG } from "../../api/hook-catalog.ts";
import type { RuleSpec } from "../../api/hook-policy.ts";
import type { Contradiction } from "../gates/gate-kind.ts";
import { conditionsOf } from "../gates/gates.ts";
import { lateWaits } from "../gates/wait.ts";
import type { FieldError } from "./schema.ts";
import { gatesOf, type PlacedGate } from "./sound-parts.ts";

/** For a rule, or its parts, that fit the schema. */
export function contradictions(rule: RuleSpec, path: string): readonly FieldError[] {
  const gates = (rule.until ?? []).map((gate, index) => ({ gate, path: `${path}.until[${index}]` }));
  return [...lateWaits(rule, path), ...gatesOf(rule, path).flatMap(unmeetable), ...exclusive(gates)];
}

export const UNTIL_MISSING = "until-missing";

/**
 * Rules whose authors have probably forgotten `until`: they have fields for what a rule holds, or stand beside a rule that holds.
 * A policy of which no rule holds observes, and means to.
 */
export function untilMissing(rules: readonly RuleSpec[]): FieldError[] {
  const holding = rules.find(({ until }) => until !== undefined)?.name;
  return rules.flatMap((rule, index) => onlyObserves(rule, `spec.rules[${index}]`, holding));
}

function onlyObserves(
  { hooks, until, message, retryAfterSeconds }: RuleSpec,
  path: string,
  holding: string | undefined,
): FieldError[] {
  const waits = hooks.some((hook) => CATALOG[hook].blocksSince !== undefined);
  if (until !== undefined || !waits) return [];
  const told = (field: string, text: string): FieldError[] => [
    { path: `${path}.${field}`, id: UNTIL_MISSING, message: text },
  ];
  const field = message === undefined ? "retryAfterSeconds" : "message";
  if ((message ?? retryAfterSeconds) !== undefined)
    return told(
      field,
      `has no effect, because the rule has no until: it only observes, and holds nothing. Add until, or remove ${field}`,
    );
  // A hook that nothing can hold says that the rule means to observe.
  const meansToHold = hooks.every((hook) => CATALOG[hook].blocksSince !== undefined);
  if (holding === undefined || !meansToHold) return [];
  return told(
    "hooks",
    `the rule has no until, unlike rule ${JSON.stringify(holding)}: it only observes, and holds nothing. Add until, or make it a policy of its own`,
  );
}

function unmeetable({ gate, path }: PlacedGate): FieldError[] {
  return conditionsOf(gate, path).flatMap(({ kind, spec, place }) => {
    const found = kind.neverMet?.(spec);
    return found === undefined ? [] : [neverHolds(place(found))];
  });
}

/** All gates of a rule must be met at the same time. */
function exclusive(gates: readonly PlacedGate[]): FieldError[] {
  const conditions = gates.flatMap(({ gate, path }) =>
    conditionsOf(gate, path).map((condition) => ({ name: gate.name, ...condition })),
  );
  return conditions.flatMap(({ field, kind, spec, place }, index) => {
    const earlier = conditions.slice(0, index).filter((each) => each.field === field);
    return (kind.contradicts?.(spec, earlier) ?? []).map((found) => neverHolds(place(found)));
  });
}

function neverHolds({ path, why }: Contradiction): FieldError {
  return { path, id: "gate-never-holds", message: `the gate is never met: ${why}` };
}
