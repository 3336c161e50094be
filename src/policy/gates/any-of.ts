/** A gate that is met while at least one of its members is. */

import { earliest } from "../../lib/instant.ts";
import { changesAtEarliest } from "../decision.ts";
import { type CompiledGate, type GateResult, inParentheses, wantedInMessage } from "../policy.ts";
import { evaluateGate } from "../budget.ts";
import { strictestOf } from "../strict-reasons.ts";
import type { Situation } from "../world.ts";

export function anyOfGate(name: string, members: readonly CompiledGate[]): CompiledGate {
  const windows = members
    .flatMap((member) => member.windows ?? [])
    .map((window) => ({ ...window, alone: false }));
  const demands = members.flatMap((member) => member.demands ?? []);
  return {
    name,
    evaluate: (situation) => evaluateAny(members, situation),
    ...(windows.length > 0 && { windows }),
    requestFields: new Set(members.flatMap((member) => [...member.requestFields])),
    ...(demands.length > 0 && {
      demands,
      queries: (situation) => members.flatMap((member) => member.queries?.(situation) ?? []),
    }),
    ...(members.some((member) => member.readsNamespaces) && { readsNamespaces: true }),
    ...(members.some(({ usesNow }) => usesNow) && { usesNow: true }),
    ...(members.some((member) => "opensAt" in member) && {
      opensAt: (now) =>
        earliest(members.map((member) => member.opensAt?.(now)).filter((at) => at !== "Never")) ?? "Never",
    }),
  };
}

/** Met if one member is; otherwise not evaluable if one member is not, because that one might be met. */
function evaluateAny(members: readonly CompiledGate[], situation: Situation): GateResult {
  const results = members.map((member) => ({ name: member.name, result: evaluateGate(member, situation) }));
  const rest = {
    wanted: `one of: ${results.map(({ result }) => `${wantedInMessage(result)}${inParentheses(result)}`).join("; or ")}`,
    observed: observedBy(results),
    ...changesAtEarliest(results.map(({ result }) => result.changesAt)),
    members: results.map(({ name, result }) => ({ gate: name, ...result })),
  };
  if (results.some(({ result }) => result.met === true)) return { met: true, reason: "Holds", ...rest };
  const unknown = results.filter(({ result }) => result.met === undefined);
  const first = strictestOf(unknown.map(({ result }) => result));
  if (first === undefined) return { met: false, reason: "NoneHolds", ...rest };
  // Messages have this text, so it must not contain what the other members found.
  return { ...rest, met: undefined, reason: first.reason, observed: observedBy(unknown) };
}

function observedBy(results: readonly { readonly name: string; readonly result: GateResult }[]): string {
  return results.map(({ name, result }) => `${name}: ${result.observed}`).join("; ");
}
