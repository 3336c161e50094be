/** Version ranges in npm's syntax: those of semver.org, with spaces for "and". */

import { parse, Range, validRange } from "semver";
import { found } from "./validation/field-message.ts";

/** Two versions with a hyphen but no spaces: npm reads the second one as a pre-release name. */
const HYPHEN_WITHOUT_SPACES = /\d-v?\d+\.\d+/;

/** Finds a mistake in a range; `undefined` if it is valid. */
export function rangeProblem(range: string): string | undefined {
  const hint = syntaxHint(range);
  if (hint !== undefined) return `found ${found(range)}: ${hint}`;
  if (validRange(range) !== null) return undefined;
  return `found ${found(range)}, expected a range of versions such as ">=1.30.0 <1.32.0"`;
}

function syntaxHint(range: string): string | undefined {
  if (range.includes(",")) return 'write a space instead of the comma, as in ">=1.30.0 <1.32.0"';
  // npm reads an empty range as any version.
  if (range.split("||").some((alternative) => alternative.trim() === "")) {
    return 'an empty range holds for every version; write "*" if that is meant';
  }
  if (HYPHEN_WITHOUT_SPACES.test(range)) return 'write spaces around the hyphen, as in "1.30.0 - 1.31.0"';
  return undefined;
}

/**
 * Whether a version lies in the range; `undefined` for an invalid version (1.30 lacks its patch). As in npm, a
 * pre-release lies only in a range that names a pre-release of the same version, and build metadata does not count.
 */
export function compileRange(range: string): (version: string) => boolean | undefined {
  const problem = rangeProblem(range);
  if (problem !== undefined) throw new Error(problem);
  const compiled = new Range(range);
  return (text) => {
    const version = parse(text);
    return version === null ? undefined : compiled.test(version);
  };
}
