/** Says which part of a CEL expression is false: a decision knows only that the whole is. */

import { type Fields, fieldsOf, isFields, listOf, nonEmptyText } from "../../lib/fields.ts";
import { falseParts } from "../../policy/cel/conjuncts.ts";
import type { GateTrace, RuleTrace } from "../../policy/decision.ts";
import type { GateResult } from "../../policy/policy.ts";
import type { Situation } from "../../policy/world.ts";

/** `spec`: of the policy, as it was read. */
export function withFalseParts<T extends RuleTrace>(rule: T, spec: unknown, situation: Situation): T {
  const written = named(fieldsOf(spec)["rules"], rule.rule);
  if (rule.condition !== undefined) {
    const condition = named(written["matchConditions"], rule.condition);
    const parts = partsOf(condition["expression"], "matchCondition", situation);
    return parts.length === 0 ? rule : { ...rule, message: textOf(parts) };
  }
  const gates = rule.gates.map((gate) => explained(gate, named(written["until"], gate.gate), situation));
  return { ...rule, gates };
}

function explained<T extends GateTrace | (GateResult & { readonly gate: string })>(
  gate: T,
  written: Fields,
  situation: Situation,
): T {
  const members = gate.members?.map((each) => explained(each, named(written["anyOf"], each.gate), situation));
  if (members !== undefined) return { ...gate, members };
  if (gate.reason !== "ExpressionFalse") return gate;
  const source = written["expression"];
  const parts = partsOf(source, "gate", situation);
  const isWhole = parts.length === 0 || parts[0] === nonEmptyText(source)?.trim();
  return isWhole ? gate : { ...gate, observed: `${gate.observed}, because ${textOf(parts)}` };
}

function named(list: unknown, name: string): Fields {
  return (
    listOf(list)
      .filter(isFields)
      .find((each) => each["name"] === name) ?? {}
  );
}

function partsOf(
  source: unknown,
  use: "matchCondition" | "gate",
  { world: { cluster, namespace }, call, now }: Situation,
): readonly string[] {
  return typeof source === "string" ? falseParts(source, use, { cluster, namespace, call, now }) : [];
}

/** In one line, as explain shows the whole expression. */
function textOf(parts: readonly string[]): string {
  return parts.map((part) => `${part.replaceAll(/\s+/g, " ")} is false`).join("; ");
}
