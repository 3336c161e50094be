/** A gate that holds when the version that the call is about lies in a range. */

import type { VersionGateSpec } from "../../api/hook-policy.ts";
import { READS_VERSION, targetVersion } from "../target-version.ts";
import { type CompiledGate, type GateResult, unevaluable } from "../policy.ts";
import { compileRange } from "../version-range.ts";

/** The range has been checked (semantics.ts). */
export function versionGate(name: string, { range }: VersionGateSpec): CompiledGate {
  const satisfies = compileRange(range);
  const wanted = `a Kubernetes version in the range ${JSON.stringify(range)}`;
  const unknown = (why: string): GateResult => unevaluable("TargetVersionUnknown", wanted, why);
  return {
    name,
    requestFields: READS_VERSION,
    evaluate: (_world, call) => {
      const version = targetVersion(call);
      if (version === undefined) return unknown("the call names no version");
      const holds = satisfies(version);
      if (holds === undefined) return unknown("the call's version is not a semantic version");
      return {
        holds,
        reason: holds ? "Holds" : "VersionNotInRange",
        wanted: `${wanted}, not ${version}`,
        observed: JSON.stringify(version),
      };
    },
  };
}
