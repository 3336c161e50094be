/**
 * Finds approvals of a version that only BeforeClusterUpgrade asks for. Cluster API asks it once for each upgrade: a version
 * that changes while the upgrade runs (`unsafe.topology.cluster.x-k8s.io/disable-update-version-check`) needs no approval.
 */

import type { ServedHooks } from "../../api/hook-catalog.ts";
import type { RuleSpec } from "../../api/hook-policy.ts";
import { conditionsOf } from "../../policy/gates/gates.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import { gatesOf, type GateField } from "../../policy/validation/sound-parts.ts";

/** For rules without errors. Cluster API before 1.12 asks BeforeClusterUpgrade about each version. */
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
    return [{ path: `${path}.hooks[${hook}]`, id: "unasked-version", message: MESSAGE }];
  });
}

const MESSAGE =
  "Cluster API asks BeforeClusterUpgrade once for each upgrade, so a version that is changed while the upgrade runs needs no approval: let a rule on BeforeControlPlaneUpgrade ask for the same, as in docs/recipes/approve-each-version.md";

function approvesVersion({ gate }: GateField): boolean {
  return conditionsOf(gate).some(({ kind, spec }) => kind.approvesVersion?.(spec) === true);
}
