/** Compares two label selectors over every possible set of labels. */

import type { LabelSelector, LabelSelectorRequirement } from "../../api/meta.ts";
import { compileSelector, type Labels } from "../../api/selector.ts";

type Requirements = readonly LabelSelectorRequirement[];

/** Whether no labels match both. */
export function areDisjoint(a: LabelSelector | undefined, b: LabelSelector | undefined): boolean {
  const [ofA, ofB] = [requirementsOf(a), requirementsOf(b)];
  return keysOf([...ofA, ...ofB]).some(
    (key) =>
      !labelsFor(key, [...ofA, ...ofB]).some((labels) => fits(ofA, key, labels) && fits(ofB, key, labels)),
  );
}

/** Whether `a` matches all labels that every one of `selectors` matches. */
export function includes(
  a: LabelSelector | undefined,
  selectors: readonly (LabelSelector | undefined)[],
): boolean {
  const [ofA, others] = [requirementsOf(a), selectors.flatMap(requirementsOf)];
  return keysOf(ofA).every((key) =>
    labelsFor(key, [...ofA, ...others]).every(
      (labels) => !fits(others, key, labels) || fits(ofA, key, labels),
    ),
  );
}

/** All that must hold of the labels. */
export function requirementsOf(selector: LabelSelector | undefined): Requirements {
  const { matchLabels = {}, matchExpressions = [] } = selector ?? {};
  const equals = Object.entries(matchLabels).map(
    ([key, value]) => ({ key, operator: "In", values: [value] }) as const,
  );
  return [...equals, ...matchExpressions];
}

function keysOf(requirements: Requirements): readonly string[] {
  return [...new Set(requirements.map(({ key }) => key))];
}

/** A value that no label can have. */
const ANOTHER = "\u0000";

/** A set of labels for each case that the requirements on this key distinguish. */
function labelsFor(key: string, requirements: Requirements): readonly Labels[] {
  const values = requirements.flatMap((each) => (each.key === key ? (each.values ?? []) : []));
  return [{}, ...[...values, ANOTHER].map((value) => ({ [key]: value }))];
}

function fits(requirements: Requirements, key: string, labels: Labels): boolean {
  return compileSelector({ matchExpressions: requirements.filter((each) => each.key === key) })(labels);
}
