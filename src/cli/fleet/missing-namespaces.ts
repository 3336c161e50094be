/** Tells which Namespaces of Clusters are not among the objects, and what is unknown without their labels. */

import type { HookRolloutSpec } from "../../api/hook-policy.ts";
import type { LabelSelector } from "../../api/meta.ts";
import { firstNames } from "../../lib/first-names.ts";
import { NAMESPACE_MISSING } from "../../policy/validation/accepted.ts";
import type { FieldError } from "../../policy/validation/schema.ts";
import type { Fleet, FleetRollout } from "./fleet.ts";
import { ownKind, policyKind, type RawObject, viewPolicy, viewRollout } from "./kinds.ts";

const SHOWN = 5;

/** `of`: the Namespaces that the answer needs; absent: those of all Clusters. */
export function missingNamespaces(fleet: Fleet, of?: string): readonly string[] {
  const needed = of === undefined ? fleet.clusters().map(({ metadata }) => metadata.namespace ?? "") : [of];
  return [...new Set(needed)].filter((name) => fleet.namespace(name) === undefined);
}

/** What these fleets cannot tell without the Namespaces; `undefined`: nothing. */
export function namespaceWarning(fleets: readonly Fleet[], of?: string): string | undefined {
  const missing = [...new Set(fleets.flatMap((fleet) => missingNamespaces(fleet, of)))];
  const policies = fleets.some((each) =>
    each.policies.some(({ compiled }) => compiled.selectsNamespace !== undefined),
  );
  const rollouts = fleets.flatMap((each) => each.rollouts);
  const names = namesOf(rollouts.filter(readsNamespaces));
  const staged = namesOf(rollouts.filter(hasNarrowStage));
  const effects = [
    ...(policies ? ["what a ClusterHookPolicy says of them is not evaluable"] : []),
    ...(names.length > 0
      ? [`whether HookRollout ${firstNames(names, SHOWN)} selects them is unknown (shown as if it did)`]
      : []),
    ...(staged.length > 0
      ? [
          `in which stage of HookRollout ${firstNames(staged, SHOWN)} they are is unknown (shown as in none with a namespaceSelector)`,
        ]
      : []),
  ];
  return missing.length === 0 || effects.length === 0 ? undefined : textOf(missing, effects.join(", and "));
}

function namesOf(rollouts: readonly FleetRollout[]): readonly string[] {
  return [...new Set(rollouts.map(({ compiled }) => compiled.name))];
}

function textOf(missing: readonly string[], effect: string): string {
  return `the Namespace of Clusters is not among the objects: ${firstNames(missing, SHOWN)}; ${effect}. Add it, with its labels, to the files`;
}

function readsNamespaces({ compiled, spec: { spread = [], namespaceSelector } }: FleetRollout): boolean {
  if (compiled.problem !== undefined) return false;
  return spread.some(({ from }) => from === "Namespace") || isNarrow(namespaceSelector);
}

function hasNarrowStage({ compiled, spec: { stages = [] } }: FleetRollout): boolean {
  return compiled.problem === undefined && stages.some((stage) => isNarrow(stage.namespaceSelector));
}

/** The paths of the selectors that read labels of Namespaces. */
function narrowSelectors({
  namespaceSelector,
  stages = [],
}: Pick<HookRolloutSpec, "namespaceSelector" | "stages">): readonly string[] {
  const all = [
    { at: "spec", selector: namespaceSelector },
    ...stages.map((stage, index) => ({ at: `spec.stages[${index}]`, selector: stage.namespaceSelector })),
  ];
  return all.filter(({ selector }) => isNarrow(selector)).map(({ at }) => `${at}.namespaceSelector`);
}

function isNarrow({ matchLabels = {}, matchExpressions = [] }: LabelSelector = {}): boolean {
  return Object.keys(matchLabels).length + matchExpressions.length > 0;
}

/** `object`: valid. What it selects of these Clusters is unknown. */
export function unknownSelection(object: RawObject, missing: readonly string[]): readonly FieldError[] {
  if (missing.length === 0) return [];
  const [path] = narrowSelectors(selectionOf(object));
  const message = textOf(missing, "whether this selects them is unknown");
  return path === undefined ? [] : [{ path, id: NAMESPACE_MISSING, message }];
}

function selectionOf(object: RawObject): Pick<HookRolloutSpec, "namespaceSelector" | "stages"> {
  if (ownKind(object) === "HookRollout") return viewRollout(object).spec;
  if (policyKind(object) !== "ClusterHookPolicy") return { namespaceSelector: {} };
  const { spec } = viewPolicy("ClusterHookPolicy", object);
  return { namespaceSelector: "namespaceSelector" in spec ? spec.namespaceSelector : {} };
}
