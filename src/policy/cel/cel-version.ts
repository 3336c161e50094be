/** Semantic versions in CEL, named as in Kubernetes' own library, and ranges as in the version gate. */

import { celFunc, type CelFunc, type CelMap, celMap, celMethod, CelScalar, mapType } from "@bufbuild/cel";
import { parse, type SemVer } from "semver";
import { COMPILE_STEPS, meter, READ_STEPS } from "./meter.ts";
import { compileRange } from "../version-range.ts";

const { BOOL, DYN, INT, STRING } = CelScalar;
/** The library has no custom types. A map can be compared only with maps and has no order. */
const VERSION = mapType(DYN, DYN);
const TEXT = "@semver";
const BETWEEN_BOUNDS = /\s*\|\|\s*|\s+/;
/** Measured: as many as semver compiles in COMPILE_STEPS. */
const BOUNDS_AT_ONCE = 2;

function toVersion(text: string): SemVer {
  meter.charge(READ_STEPS);
  meter.chargeText(text);
  const version = parse(text);
  if (version === null) throw new Error("not a semantic version");
  return version;
}

function unwrap(map: CelMap): SemVer {
  const text = map.get(TEXT);
  return toVersion(typeof text === "string" ? text : "");
}

export const versionFunctions: readonly CelFunc[] = [
  celFunc("isSemver", [STRING], BOOL, (text) => {
    meter.chargeText(text);
    return parse(text) !== null;
  }),
  celFunc("semver", [STRING], VERSION, (text) => celMap(new Map([[TEXT, toVersion(text).version]]))),
  ...(["major", "minor", "patch"] as const).map((part) =>
    celMethod(part, VERSION, [], INT, function () {
      return BigInt(unwrap(this)[part]);
    }),
  ),
  celMethod("isLessThan", VERSION, [VERSION], BOOL, function (other) {
    return unwrap(this).compare(unwrap(other)) < 0;
  }),
  celMethod("isGreaterThan", VERSION, [VERSION], BOOL, function (other) {
    return unwrap(this).compare(unwrap(other)) > 0;
  }),
  celMethod("compareTo", VERSION, [VERSION], INT, function (other) {
    return BigInt(unwrap(this).compare(unwrap(other)));
  }),
  celMethod("satisfies", STRING, [STRING], BOOL, function (range) {
    meter.chargeText(this, range);
    meter.charge(COMPILE_STEPS * Math.ceil(range.split(BETWEEN_BOUNDS).length / BOUNDS_AT_ONCE));
    const satisfied = compileRange(range)(this);
    if (satisfied === undefined) throw new Error("not a semantic version");
    return satisfied;
  }),
];

/** The functions whose result or target is a version. */
export const VERSION_FUNCTIONS: readonly string[] = versionFunctions
  .filter(({ target, result }) => target === VERSION || result === VERSION)
  .map(({ name }) => name);
