/** The flags of `hookpolicy test`, and which of them go together. */

import { CommandError, USAGE } from "../command.ts";

export const FORMATS = ["text", "junit", "markdown", "json"] as const;

export interface Flags {
  readonly output: (typeof FORMATS)[number];
  readonly requireTests?: true;
  readonly coverage?: true;
  readonly mutate?: true;
  /** In percent. */
  readonly failUnder?: number;
  /** In milliseconds. */
  readonly timeout: number;
  readonly record?: string;
  readonly write?: string;
  readonly color: boolean;
}

/** Throws for the first pair of flags that contradict each other. */
export function checkFlags(flags: Flags): void {
  const { output } = flags;
  const reportsText = output === "text" && flags.mutate === undefined;
  const conflicts = [
    [flags.write !== undefined && flags.record === undefined, "--write is for --record"],
    [
      flags.record !== undefined && !(reportsText && flags.coverage === undefined),
      "--record writes a suite, and runs none: leave out --mutate, --coverage and -o",
    ],
    [
      flags.coverage === true && (output === "markdown" || flags.mutate === true),
      "--coverage is for the text report; JSON and JUnit always have it",
    ],
    [flags.failUnder !== undefined && flags.mutate === undefined, "--fail-under is for --mutate"],
    [
      flags.mutate === true && output !== "text" && output !== "json",
      `--mutate has no -o ${output}: text or json`,
    ],
  ] as const;
  for (const [isConflict, message] of conflicts) if (isConflict) throw new CommandError(USAGE, message);
}
