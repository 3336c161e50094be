/** How many objects an object gate wants: enough, not too many, or none. */

import type { ObjectGateSpec } from "../../api/hookpolicy.ts";
import type { WatchedObject } from "../objects.ts";
import { type GateResult, unevaluable } from "../policy.ts";

export interface Count {
  readonly absent: boolean;
  readonly min: number;
  readonly max: number;
}

export function compileCount({ absent, minCount, maxCount }: ObjectGateSpec): Count {
  const min = maxCount === undefined ? 1 : 0;
  return { absent: absent === true, min: minCount ?? min, max: maxCount ?? Infinity };
}

/** Whether missing objects can make the gate hold. */
export function provesByMissing({ absent, max }: Count): boolean {
  return absent || max !== Infinity;
}

/** For messages. */
export function describeCounted({ absent, min, max }: Count, what: string): string {
  if (absent) return `no ${what} to be left`;
  if (max === Infinity) return min > 1 ? `${min} × ${what}` : what;
  if (min === max) return `exactly ${max} × ${what}`;
  return min === 0 ? `at most ${max} × ${what}` : `${min} to ${max} × ${what}`;
}

/** `undefined`: the expression is not evaluable for this object. */
export type Fulfils = (object: WatchedObject) => boolean | undefined;

export function judge(
  count: Count,
  objects: readonly WatchedObject[],
  wanted: string,
  fulfils: Fulfils,
): GateResult {
  if (count.absent) return judgeAbsence(objects, wanted, fulfils);
  const { present = [], going = [] } = Object.groupBy(objects, ({ metadata }) =>
    metadata.deletionTimestamp === undefined ? "present" : "going",
  );
  const left = provesByMissing(count) ? going : [];
  return judgeCount(count, tally(present, fulfils), tally(left, fulfils), wanted);
}

interface Tally {
  readonly yes: number;
  readonly unknown: number;
  readonly all: number;
}

function tally(objects: readonly WatchedObject[], fulfils: Fulfils): Tally {
  const results = objects.map(fulfils);
  const unknown = results.filter((result) => result === undefined).length;
  return { yes: results.filter((result) => result === true).length, unknown, all: results.length };
}

/** An object that is being deleted does not count as present, but still as one too many. */
function judgeCount({ min, max }: Count, present: Tally, going: Tally, wanted: string): GateResult {
  const left = present.yes + going.yes;
  const observed = `${present.yes} of ${present.all}`;
  if (left > max) return { holds: false, reason: "TooManyObjects", wanted, observed: `${left} left` };
  if (present.yes + present.unknown < min)
    return { holds: false, reason: "WaitingForObject", wanted, observed };
  if (present.yes < min || left + present.unknown + going.unknown > max)
    return unevaluable("ExpressionError", wanted, CANNOT_EVALUATE);
  return { holds: true, reason: "Holds", wanted, observed };
}

/** An object that is being deleted still exists. */
function judgeAbsence(objects: readonly WatchedObject[], wanted: string, fulfils: Fulfils): GateResult {
  const { yes, unknown } = tally(objects, fulfils);
  if (yes > 0) return { holds: false, reason: "WaitingForAbsence", wanted, observed: `${yes} left` };
  if (unknown > 0) return unevaluable("ExpressionError", wanted, CANNOT_EVALUATE);
  return { holds: true, reason: "Holds", wanted, observed: "none left" };
}

const CANNOT_EVALUATE =
  "the expression cannot be evaluated for an object: use has() for fields that can be missing";
