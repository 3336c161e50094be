/** Prints a new HookOverride for people, for Git and as JSON. */

import type { Terminal } from "../terminal/terminal.ts";
import { type HolderRef, policyName } from "../../policy/policy-ref.ts";
import { WHOLE } from "../../rollouts/rollout.ts";
import { effectOf, ONCE } from "../approve/report.ts";
import type { OverrideEffect, NewOverride } from "./new-override.ts";
import type { Detail } from "../../page/branch.ts";
import { indented } from "../terminal/tree.ts";

export function liftedLines(
  { spec }: NewOverride,
  lifted: readonly OverrideEffect[],
  view: Terminal,
): string[] {
  const { namespace, name } = spec.clusterRef;
  return lifted.flatMap((each) => [
    `${view.colour.bold(`${each.call.hook} of Cluster ${namespace}/${name}`)}, until ${spec.expiresAt}`,
    ...indented(detailsOf(each), view.columns),
  ]);
}

function detailsOf({ call, asked, lifts, stays }: OverrideEffect): Detail[] {
  return [
    { label: "then", text: `Cluster API ${effectOf(call)}${asked ? "" : ONCE}` },
    ...(lifts.length === 0 ? [{ label: "lifts", text: "nothing that holds it now" }] : []),
    ...lifts.flatMap(({ policy, rule, message }) => [
      { label: "lifts", text: `${policyName(policy)}${placeIn(policy, rule)}` },
      { label: "", text: message },
    ]),
    ...stays.map((policy) => ({ label: "held by", text: `${policyName(policy)} all the same` })),
  ];
}

function placeIn({ kind }: HolderRef, rule: string): string {
  if (kind !== "HookRollout") return ` ${rule}`;
  return rule === WHOLE ? "" : `, stage ${rule}`;
}

export function overrideJson(
  override: NewOverride,
  lifted: readonly OverrideEffect[],
  outcome: { readonly dryRun: boolean; readonly inForce: boolean },
): object {
  const operations = lifted.map(({ call, asked, lifts, stays }) => ({
    hook: call.hook,
    effect: effectOf(call),
    asked,
    lifts,
    stays,
  }));
  return { override, operations, ...outcome };
}
