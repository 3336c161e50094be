/** Gates that nothing can make hold, and clocks that never matter: legal, but never intended. */

import { intersects, minVersion } from "semver";
import type { AnyOfGateSpec, MetadataGateSpec, RuleSpec } from "../../api/hook-policy.ts";
import { parseDuration } from "../duration.ts";
import { rangeProblem } from "../version-range.ts";
import type { FieldError } from "./schema.ts";
import { gatesOf, type PlacedGate } from "./sound-parts.ts";

/** For a rule, or its parts, that fit the schema. */
export function contradictions(rule: RuleSpec, path: string): readonly FieldError[] {
  const gates = (rule.until ?? []).map((gate, index) => ({ gate, path: `${path}.until[${index}]` }));
  return [
    ...lateWaits(rule, path),
    ...gatesOf(rule, path).flatMap(emptyRange),
    ...disjointRanges(gates),
    ...twoValues(gates),
  ];
}

/** A deadline counts from the first block, and a wait begins then or later. */
function lateWaits({ deadline, until = [] }: RuleSpec, path: string): FieldError[] {
  const limit = parseDuration(deadline?.after ?? "");
  if (deadline === undefined || limit === undefined) return [];
  const late = until.find(({ wait }) => (parseDuration(wait?.duration ?? "") ?? 0) >= limit);
  if (late?.wait === undefined) return [];
  const end = deadline.onExpiry === "Allow" ? "releases the operation" : "passes";
  const message = `the deadline ${end} before gate ${late.name} has waited ${late.wait.duration}, whatever happens: make it longer than the wait`;
  return [{ path: `${path}.deadline.after`, id: "deadline-before-wait", message }];
}

function rangeOf({ version }: AnyOfGateSpec): string | undefined {
  return version === undefined || rangeProblem(version.range) !== undefined ? undefined : version.range;
}

function emptyRange({ gate, path }: PlacedGate): FieldError[] {
  const range = rangeOf(gate);
  if (range === undefined || minVersion(range) !== null) return [];
  return [neverHolds(`${path}.version.range`, `no version lies in ${JSON.stringify(range)}`)];
}

/** To compare all ranges of a rule can take long, and no rule needs as many. */
const COMPARED_RANGES = 3;

/** All gates of a rule must be met at the same time. */
function disjointRanges(gates: readonly PlacedGate[]): FieldError[] {
  const ranges = gates.flatMap(({ gate, path }) => {
    const range = rangeOf(gate);
    return range === undefined || minVersion(range) === null ? [] : [{ gate, path, range }];
  });
  return pairsOf(ranges.slice(0, COMPARED_RANGES)).flatMap(([first, { range: b, path }]) => {
    if (intersects(first.range, b)) return [];
    const why = `no version lies in ${JSON.stringify(b)} and in the range of gate ${first.gate.name}`;
    return [neverHolds(`${path}.version.range`, why)];
  });
}

function twoValues(gates: readonly PlacedGate[]): FieldError[] {
  return pairsOf(gates).flatMap(([first, { gate, path }]) =>
    (["annotation", "label"] as const).flatMap((field) => {
      const [a, b] = [first.gate[field], gate[field]];
      if (!isSameKey(a, b) || a?.value === undefined || b?.value === undefined || a.value === b.value)
        return [];
      const why = `gate ${first.gate.name} wants another value of the same ${field}, ${b.key}`;
      return [neverHolds(`${path}.${field}.value`, why)];
    }),
  );
}

function isSameKey(a: MetadataGateSpec | undefined, b: MetadataGateSpec | undefined): boolean {
  return a?.key === b?.key && (a?.from ?? "Cluster") === (b?.from ?? "Cluster");
}

function neverHolds(path: string, why: string): FieldError {
  return { path, id: "gate-never-holds", message: `the gate never holds: ${why}` };
}

function pairsOf<T>(items: readonly T[]): (readonly [T, T])[] {
  return items.flatMap((item, index) => items.slice(0, index).map((before) => [before, item] as const));
}
