/** Warnings about rules that have no errors. */

import type { ServedHooks } from "../../api/hook-catalog.ts";
import type { RuleSpec } from "../../api/hook-policy.ts";
import { isHas, pathKey } from "../../policy/cel/guards.ts";
import { type Expr, findNode, parseExpression } from "../../policy/cel/syntax.ts";
import type { ExpressionField } from "../../policy/gates/gate-kind.ts";
import { conditionsOf } from "../../policy/gates/gates.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import { atPosition, expressionsOf } from "../../policy/validation/semantics.ts";
import { gatesOf, type GateField } from "../../policy/validation/sound-parts.ts";

/** Expressions that read the finalizers of a Cluster in deletion, because a Cluster of a suite has none. */
export function suiteWarnings(rules: readonly RuleSpec[]): readonly FieldError[] {
  return rules.flatMap((rule, index) =>
    rule.hooks.includes("BeforeClusterDelete")
      ? expressionsOf(rule, `spec.rules[${index}]`).flatMap(expressionWarnings)
      : [],
  );
}

function expressionWarnings({ source, path }: ExpressionField): FieldError[] {
  const parsed = parseExpression(source);
  if (!parsed.ok) return [];
  const { root, position } = parsed;
  const read = findNode(root, readsFinalizers);
  if (read === undefined) return [];
  const { line, column } = position(read.id) ?? {};
  return [{ path, id: "blank-in-suites", message: `${atPosition(line, column)}${BLANK}` }];
}

const BLANK =
  "a Cluster has finalizers while its deletion waits, but that of a suite has none until a step patches it, so `hookpolicy test` can say the opposite of what the operator does";

const FINALIZERS = 'cluster["metadata"]["finalizers"]';

/** has() does not count, because a real Cluster always has the list. */
function readsFinalizers(expr: Expr): boolean {
  return !isHas(expr) && pathKey(expr) === FINALIZERS;
}

/**
 * Approvals of a version that only BeforeClusterUpgrade asks for. Cluster API, from 1.12 on, asks it once for each upgrade: a
 * version that changes while the upgrade runs (`unsafe.topology.cluster.x-k8s.io/disable-update-version-check`) needs no approval.
 */
export function versionWarnings(
  rules: readonly RuleSpec[],
  { blocking }: ServedHooks,
): readonly FieldError[] {
  const asksForSteps = rules.some(
    ({ hooks, until }) => until !== undefined && hooks.includes("BeforeControlPlaneUpgrade"),
  );
  if (asksForSteps || !blocking.has("BeforeControlPlaneUpgrade")) return [];
  return rules.flatMap((rule, index) => {
    const path = `spec.rules[${index}]`;
    const hook = rule.hooks.indexOf("BeforeClusterUpgrade");
    if (hook < 0 || !gatesOf(rule, path).some(approvesVersion)) return [];
    return [{ path: `${path}.hooks[${hook}]`, id: "unasked-version", message: UNASKED }];
  });
}

const UNASKED =
  "Cluster API asks BeforeClusterUpgrade once for each upgrade, so a version that is changed while the upgrade runs needs no approval: let a rule on BeforeControlPlaneUpgrade ask for the same, as in docs/recipes/approve-each-version.md";

function approvesVersion({ gate }: GateField): boolean {
  return conditionsOf(gate).some(({ kind, spec }) => kind.approvesVersion?.(spec) === true);
}
