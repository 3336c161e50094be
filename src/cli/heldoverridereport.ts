/** A new HookOverride for people, for Git and as JSON. */

import { stringify } from "yaml";
import { policyName } from "../policy/policy.ts";
import { effectOf } from "./approvalreport.ts";
import type { Colour } from "./colour.ts";
import type { Lifted, NewOverride } from "./heldoverride.ts";
import { oneLine } from "./reporttrace.ts";
import { durationText } from "./timetext.ts";

interface LiftedView {
  readonly forMs: number;
  readonly colour: Colour;
}

export function liftedText({ spec }: NewOverride, lifted: readonly Lifted[], view: LiftedView): string {
  const { namespace, name } = spec.clusterRef;
  return lifted
    .flatMap((each) => [
      `${view.colour.bold(`${each.call.hook} of Cluster ${namespace}/${name}`)}, until ${spec.expiresAt}`,
      `  then      Cluster API ${oneLine(effectOf(each.call))}${each.asked ? "" : ", once it wants to"}`,
      ...linesOf(each, view),
    ])
    .map((line) => `${line}\n`)
    .join("");
}

function linesOf({ lifts, stays, retryAfterSeconds }: Lifted, { forMs, colour }: LiftedView): string[] {
  const nothing = lifts.length === 0 ? ["  lifts     nothing that holds it now"] : [];
  const late =
    retryAfterSeconds * 1000 >= forMs
      ? [
          `  ${colour.yellow("late")}      Cluster API may ask only after ${retryAfterSeconds} s: longer than ${durationText(forMs)} is better`,
        ]
      : [];
  return [
    ...nothing,
    ...lifts.flatMap(({ policy, rule, message }) => [
      `  ${colour.red("lifts")}     ${oneLine(`${policyName(policy)} ${rule}`)}`,
      `            ${oneLine(message)}`,
    ]),
    ...stays.map((policy) => `  held by   ${oneLine(policyName(policy))} all the same`),
    ...late,
  ];
}

/** Strings that YAML 1.1 would take for something else are quoted. */
export function overrideYaml(override: NewOverride): string {
  return stringify(override, { version: "1.1", lineWidth: 0 });
}

export function overrideJson(
  override: NewOverride,
  lifted: readonly Lifted[],
  outcome: { readonly dryRun: boolean; readonly inForce: boolean },
): string {
  const operations = lifted.map(({ call, asked, lifts, stays }) => ({
    hook: call.hook,
    effect: effectOf(call),
    asked,
    lifts,
    stays,
  }));
  return `${JSON.stringify({ override, operations, ...outcome }, null, 2)}\n`;
}
