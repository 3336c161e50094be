/** A gate that is met while the target version of the call is in a range. */

import { intersects, minVersion } from "semver";
import type { VersionGateSpec } from "../../api/hook-policy.ts";
import { READS_VERSION, targetVersion } from "../../api/target-version.ts";
import { type CompiledGate, type GateResult, unevaluable } from "../policy.ts";
import { compileRange, prereleaseHint, rangeProblem } from "../version-range.ts";
import type { GateKind } from "./gate-kind.ts";

export const versionGate: GateKind<VersionGateSpec> = {
  compile,
  reads: "NoMark",
  canFail: () => true,
  check: ({ range }) => {
    const message = rangeProblem(range);
    return message === undefined ? {} : { errors: [{ path: ".range", message }] };
  },
  contradicts: ({ range }, earlier) => {
    if (rangeProblem(range) !== undefined) return [];
    if (!hasVersions(range)) return [{ path: ".range", why: `no version lies in ${JSON.stringify(range)}` }];
    if (earlier.length >= COMPARED_RANGES) return [];
    return earlier
      .filter(({ spec }) => hasVersions(spec.range) && !intersects(spec.range, range))
      .map(({ name }) => {
        const why = `no version lies in ${JSON.stringify(range)} and in the range of gate ${name}`;
        return { path: ".range", why };
      });
  },
};

/** To compare all ranges of a rule can take long, and no rule needs as many. */
const COMPARED_RANGES = 3;

function hasVersions(range: string): boolean {
  return rangeProblem(range) === undefined && minVersion(range) !== null;
}

function compile(name: string, { range }: VersionGateSpec): CompiledGate {
  const satisfies = compileRange(range);
  const wanted = `a Kubernetes version in the range ${JSON.stringify(range)}`;
  const unknown = (why: string): GateResult => unevaluable("TargetVersionUnknown", wanted, why);
  return {
    name,
    requestFields: READS_VERSION,
    evaluate: ({ call }) => {
      const version = targetVersion(call);
      if (version === undefined) return unknown("the call names no version");
      const met = satisfies(version);
      if (met === undefined) return unknown("the call's version is not a semantic version");
      const observed = JSON.stringify(version);
      if (met) return { met, reason: "Holds", wanted, observed };
      const hint = prereleaseHint(range, version);
      return {
        met,
        reason: "VersionNotInRange",
        wanted: `${wanted}, not ${version}`,
        observed: hint === undefined ? observed : `${observed}, ${hint}`,
      };
    },
  };
}
