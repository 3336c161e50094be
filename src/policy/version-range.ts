/** Version ranges in npm's syntax: those of semver.org, with spaces for "and". */

import { parse, Range } from "semver";
import { found } from "../lib/quoted-value.ts";

/** Two versions with a hyphen but no spaces: npm reads the second one as a pre-release name. */
const HYPHEN_WITHOUT_SPACES = /\d-v?\d+\.\d+/;

/** Finds a mistake in a range; `undefined` if it is valid. */
export function rangeProblem(range: string): string | undefined {
  const read = readRange(range);
  return typeof read === "string" ? read : undefined;
}

/** Or what is wrong with it. */
function readRange(range: string): Range | string {
  const hint = syntaxHint(range);
  if (hint !== undefined) return `found ${found(range)}: ${hint}`;
  try {
    return new Range(range, { includePrerelease: ADMITS_PRERELEASES.test(range) });
  } catch {
    return `found ${found(range)}, expected a range of versions such as ">=1.30.0 <1.32.0"`;
  }
}

function syntaxHint(range: string): string | undefined {
  if (range.includes(",")) return 'write a space instead of the comma, as in ">=1.30.0 <1.32.0"';
  // npm reads an empty range as any version.
  if (range.split("||").some((alternative) => alternative.trim() === "")) {
    return 'an empty range has every version; write "*" if that is meant';
  }
  if (HYPHEN_WITHOUT_SPACES.test(range)) return 'write spaces around the hyphen, as in "1.30.0 - 1.31.0"';
  return undefined;
}

/** A bound that ends with -0, the lowest of all pre-releases, which as in Helm is written only to include pre-releases. */
const ADMITS_PRERELEASES = /\d-0(?![\w.-])/;

/**
 * Whether a version lies in the range; `undefined` for an invalid version (1.30 lacks its patch). As in npm, a
 * pre-release lies only in a range that names a pre-release of the same version, and build metadata does not count; as in Helm, it
 * lies between bounds of which one ends with -0, as vendors' versions do (v1.34.2-k0s.0).
 */
export function compileRange(range: string): (version: string) => boolean | undefined {
  const compiled = readRange(range);
  if (typeof compiled === "string") throw new Error(compiled);
  return (text) => {
    const version = parse(text);
    return version === null ? undefined : compiled.test(version);
  };
}

/** What lets the version in, which is kept out for nothing but its pre-release. */
export function prereleaseHint(range: string, version: string): string | undefined {
  const parsed = parse(version);
  if (parsed === null || parsed.prerelease.length === 0 || ADMITS_PRERELEASES.test(range)) return undefined;
  if (!new Range(range).test(`${parsed.major}.${parsed.minor}.${parsed.patch}`)) return undefined;
  return "a pre-release, or a vendor's version: bounds that end with -0 let it in, as in >=1.34.0-0 <1.36.0-0";
}
