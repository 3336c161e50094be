/** How many objects an object gate wants: enough, not too many, or none. */

import type { ObjectGateSpec } from "../../api/hook-policy.ts";
import type { WatchedObject } from "../watched-objects.ts";
import { type GateResult, unevaluable } from "../policy.ts";

export interface Count {
  readonly absent: boolean;
  readonly min: number;
  readonly max: number;
}

export function compileCount({ absent, minCount, maxCount }: ObjectGateSpec): Count {
  if (absent === true) return { absent, min: 0, max: 0 };
  const min = maxCount === undefined ? 1 : 0;
  return { absent: false, min: minCount ?? min, max: maxCount ?? Infinity };
}

/** Whether missing objects can meet the gate. */
export function provesByMissing({ max }: Count): boolean {
  return max !== Infinity;
}

/** For messages. */
export function describeCounted({ absent, min, max }: Count, what: string): string {
  if (absent) return `no ${what} to be left`;
  if (max === Infinity) return min > 1 ? `${min} × ${what}` : what;
  if (min === max) return `exactly ${max} × ${what}`;
  return min === 0 ? `at most ${max} × ${what}` : `${min} to ${max} × ${what}`;
}

/** A text: why the expression is not evaluable for this object. */
export type ObjectPredicate = (object: WatchedObject) => boolean | string;

/** An object that is being deleted does not count as present, but still as one too many. */
export function judge(
  count: Count,
  objects: readonly WatchedObject[],
  wanted: string,
  fulfils: ObjectPredicate,
): GateResult {
  const { present = [], going = [] } = Object.groupBy(objects, ({ metadata }) =>
    metadata.deletionTimestamp === undefined ? "present" : "going",
  );
  const left = provesByMissing(count) ? going : [];
  return judgeCount(count, tally(present, fulfils), tally(left, fulfils), wanted);
}

interface Tally {
  readonly yes: number;
  /** Why the expression failed, one text for each object. */
  readonly problems: readonly string[];
  readonly all: number;
}

function tally(objects: readonly WatchedObject[], fulfils: ObjectPredicate): Tally {
  const results = objects.map(fulfils);
  const problems = results.filter((result) => typeof result === "string");
  return { yes: results.filter((result) => result === true).length, problems, all: results.length };
}

function judgeCount({ absent, min, max }: Count, present: Tally, going: Tally, wanted: string): GateResult {
  const left = present.yes + going.yes;
  const observed = absent ? "none left" : describeTally(present, min);
  if (left > max) {
    const reason = absent ? "WaitingForAbsence" : "TooManyObjects";
    return { met: false, reason, wanted, ...tooMany(left) };
  }
  if (present.yes + present.problems.length < min) {
    const found = present.yes === 0 ? "none found" : `found ${present.yes} of ${min}`;
    return { met: false, reason: "WaitingForObject", wanted, observed, found };
  }
  const problems = [...present.problems, ...going.problems];
  if (present.yes < min || left + problems.length > max)
    return unevaluable("ExpressionError", wanted, describeProblems(problems));
  return { met: true, reason: "Holds", wanted, observed };
}

/** What exists, what counts of it, and how many are wanted, where that is not one. */
function describeTally({ yes, all }: Tally, min: number): string {
  const exist = all === 0 ? "none exists" : `${all} ${all === 1 ? "exists" : "exist"}`;
  const counts =
    yes === all
      ? ""
      : `, and ${yes === 0 ? "none" : yes} of them ${yes > 1 ? "meet" : "meets"} the expression`;
  return `${exist}${counts}${min > 1 ? `; ${min} wanted` : ""}`;
}

/** A message with the number of objects without a limit would change with each of them. */
function tooMany(left: number): Pick<GateResult, "observed" | "found"> {
  return { observed: `${left} left`, found: left > MANY ? `more than ${MANY} left` : `${left} left` };
}

const MANY = 10;

/** The same text on every replica, whatever the order of the objects. */
function describeProblems(problems: readonly string[]): string {
  const [first = ""] = problems.toSorted();
  return `the expression cannot be evaluated for an object: ${first}`;
}
