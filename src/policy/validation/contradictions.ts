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
  return [
    ...onlyObserves(rule, path),
    ...lateWaits(rule, path),
    ...gatesOf(rule, path).flatMap(unmeetable),
    ...exclusive(gates),
  ];
}

export const UNTIL_MISSING = "until-missing";

/** Its author has forgotten `until`: the fields are for what a rule holds. */
function onlyObserves({ hooks, until, message, retryAfterSeconds }: RuleSpec, path: string): FieldError[] {
  const field = message === undefined ? "retryAfterSeconds" : "message";
  const waits = hooks.some((hook) => CATALOG[hook].blocksSince !== undefined);
  if (until !== undefined || !waits || (message ?? retryAfterSeconds) === undefined) return [];
  const text = `has no effect, because the rule has no until: it only observes, and holds nothing. Add until, or remove ${field}`;
  return [{ path: `${path}.${field}`, id: UNTIL_MISSING, message: text }];
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
