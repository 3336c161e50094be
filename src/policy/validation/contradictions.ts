/** Gates that nothing can meet, and clocks that never matter: legal, but never intended. */

import { CATALOG } from "../../api/hook-catalog.ts";
import type { RuleSpec } from "../../api/hook-policy.ts";
import type { Contradiction } from "../gates/gate-kind.ts";
import { conditionsOf } from "../gates/gates.ts";
import { lateWaits } from "../gates/wait.ts";
import type { FieldError } from "./schema.ts";
import { gatesOf, type GateField } from "./sound-parts.ts";

/** For a rule, or its parts, that fit the schema. */
export function contradictions(rule: RuleSpec, path: string): readonly FieldError[] {
  const gates = (rule.until ?? []).map((gate, index) => ({ gate, path: `${path}.until[${index}]` }));
  return [...lateWaits(rule, path), ...gatesOf(rule, path).flatMap(unmeetable), ...exclusive(gates)];
}

export const UNTIL_MISSING = "until-missing";

/**
 * Rules whose authors have probably forgotten `until`: they have fields for what a rule holds, or name only hooks that can be
 * held. A policy in mode Audit of which no rule holds observes, and means to.
 */
export function untilMissing(rules: readonly RuleSpec[], mode?: unknown): FieldError[] {
  const holding = rules.find(({ until, tasks }) => (until ?? tasks) !== undefined)?.name;
  const meansToObserve = holding === undefined && mode === "Audit";
  const [than, remedy] =
    holding === undefined
      ? ["", "make the mode Audit, if it is to observe"]
      : [`, unlike rule ${JSON.stringify(holding)}`, "make it a policy of its own in mode Audit"];
  return rules.flatMap(({ hooks, until, tasks, message: said, retryAfterSeconds }, index) => {
    const waiting = hooks.filter((hook) => CATALOG[hook].blocksSince !== undefined);
    if ((until ?? tasks) !== undefined || waiting.length === 0) return [];
    const of = said === undefined ? "retryAfterSeconds" : "message";
    const idle = (said ?? retryAfterSeconds) === undefined ? undefined : of;
    // A hook that nothing can hold says that the rule means to observe.
    if (idle === undefined && (meansToObserve || waiting.length < hooks.length)) return [];
    const message =
      idle === undefined
        ? `the rule has no until${than}: it only observes, and holds nothing. Add until, or ${remedy}`
        : `has no effect, because the rule has no until: it only observes, and holds nothing. Add until, or remove ${idle}`;
    return [{ path: `spec.rules[${index}].${idle ?? "hooks"}`, id: UNTIL_MISSING, message }];
  });
}

function unmeetable({ gate, path }: GateField): FieldError[] {
  return conditionsOf(gate, path).flatMap(({ kind, spec, place }) => {
    const found = kind.neverMet?.(spec);
    return found === undefined ? [] : [neverHolds(place(found))];
  });
}

/** All gates of a rule must be met at the same time. */
function exclusive(gates: readonly GateField[]): FieldError[] {
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
