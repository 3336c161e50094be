/** A gate that holds when a CEL expression is true. */

import { type Expression, expressionOrBroken } from "../cel/expression.ts";
import { truncate } from "../message.ts";
import { type CompiledGate, type GateResult, unevaluable } from "../policy.ts";
import type { World } from "../world.ts";
import type { HookCall } from "../../api/runtimehooks.ts";

const MAX_QUOTED = 120;

/** `source` has been checked (semantics.ts). */
export function expressionGate(name: string, source: string): CompiledGate {
  const expression = expressionOrBroken(source, "gate");
  return {
    name,
    requestFields: expression.requestFields,
    evaluate: (world, call, now) => evaluate(expression, world, call, now),
    ...(expression.usesNow && {
      usesNow: true,
      clusterPaths: expression.clusterPaths,
      opensAt: () => "Unknown",
    }),
  };
}

function evaluate(expression: Expression, world: World, call: HookCall, now: Date): GateResult {
  const { cluster, namespace } = world;
  const result = expression.evaluate({ cluster, namespace, call, now });
  const wanted = describeExpression(expression.source);
  const changes = expression.usesNow ? ({ changesAt: "Unknown" } as const) : {};
  if (!result.ok) return { ...unevaluable("ExpressionError", "", result.problem), ...wanted, ...changes };
  const holds = result.value === true;
  const reason = holds ? "Holds" : "ExpressionFalse";
  return { holds, reason, ...wanted, observed: String(result.value), ...changes };
}

/** For messages: one line of limited length; in full, if that is longer. */
export function describeExpression(source: string): Pick<GateResult, "wanted" | "wantedInFull"> {
  const line = source.replaceAll(/\s+/g, " ").trim();
  const inFull = line.length <= MAX_QUOTED ? {} : { wantedInFull: `expression ${line}` };
  return { wanted: `expression ${truncate(line, MAX_QUOTED)}`, ...inFull };
}
