/** A gate that is met while a CEL expression is true. */

import { expressionOrBroken } from "../cel/expression.ts";
import { type CompiledGate, type GateResult, unevaluable } from "../policy.ts";
import type { GateKind } from "./gate-kind.ts";

export const expressionGate: GateKind<string> = {
  compile,
  reads: "NoMark",
  canFail: () => true,
  expressions: (source) => [{ source, use: "gate", path: "" }],
};

function compile(name: string, source: string): CompiledGate {
  const expression = expressionOrBroken(source, "gate");
  const { requestFields, usesNow } = expression;
  const wanted = describeExpression(source);
  const changes = usesNow ? ({ changesAt: "Unknown" } as const) : {};
  return {
    name,
    requestFields,
    evaluate: ({ world: { cluster, namespace }, call, now }) => {
      const result = expression.evaluate({ cluster, namespace, call, now });
      if (!result.ok) return { ...unevaluable("ExpressionError", "", result.problem), ...wanted, ...changes };
      const met = result.value === true;
      const reason = met ? "Holds" : "ExpressionFalse";
      return { met, reason, ...wanted, observed: String(result.value), ...changes };
    },
    ...(usesNow && { usesNow, opensAt: () => "Unknown" }),
  };
}

/** Messages contain no CEL. The expression itself is for the trace only. */
export function describeExpression(source: string): Required<Pick<GateResult, "wanted" | "wantedInFull">> {
  const line = source.replaceAll(/\s+/g, " ").trim();
  return { wanted: "its expression to be true", wantedInFull: `expression ${line}` };
}
