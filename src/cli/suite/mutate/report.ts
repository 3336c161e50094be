/** Prints which mutants the suites have noticed. */

import type { Colour } from "../../terminal/colour.ts";
import type { Mutant } from "./mutants.ts";

export interface MutationResult {
  /** If the time was up: an upper limit, because some of the rest may be invalid. */
  readonly mutants: number;
  /** Mutants that the suites were run against; fewer if the time was up. */
  readonly run: number;
  readonly noticed: number;
  readonly survivors: readonly Mutant[];
}

/** Longer values are cut to the part in which they differ. */
const MAX_VALUE = 72;
/** Characters shown before the first difference. */
const LEAD = 24;

export function mutationLines(result: MutationResult, colour: Colour): string[] {
  const { survivors } = result;
  const listed = survivors.flatMap((mutant) => ["", ...survivorLines(mutant, colour)]);
  const head = survivors.length === 0 ? [] : [colour.bold("No suite noticed:"), ...listed.slice(1), ""];
  return [...head, ...totalLines(result, colour)];
}

function survivorLines(mutant: Mutant, colour: Colour): string[] {
  const { file, line, column, policy, path, before, after } = mutant;
  const from = firstShown(before, after);
  return [
    `${policy}  ${colour.dim(`${file}:${line}:${column}`)}`,
    `  ${path}: ${colour.red(shown(before, from))} → ${colour.green(shown(after, from))}`,
  ];
}

function shown(value: string | undefined, from: number): string {
  if (value === undefined) return "(absent)";
  const part = value.slice(from, from + MAX_VALUE);
  return `${from > 0 ? "…" : ""}${part}${value.length > from + MAX_VALUE ? "…" : ""}`;
}

function firstShown(before = "", after = ""): number {
  if (Math.max(before.length, after.length) <= MAX_VALUE) return 0;
  let same = 0;
  while (same < before.length && before[same] === after[same]) same += 1;
  return Math.max(0, same - LEAD);
}

function totalLines(result: MutationResult, colour: Colour): string[] {
  const { mutants, run, noticed, survivors } = result;
  const score = scoreOf(result);
  if (score === undefined) return [mutants === 0 ? "no mutants" : `no time for up to ${mutants} mutants`];
  const text = `${noticed} of ${run} mutants noticed: ${score} %`;
  const left = mutants - run;
  return [
    (survivors.length === 0 ? colour.green : colour.red)(text),
    ...(left > 0
      ? [colour.red(`the time was up: no suite was run against up to ${left} more (--timeout)`)]
      : []),
  ];
}

/** Schema: schemas/output/testmutants.json. */
export function mutationJson(result: MutationResult): object {
  const { mutants, run, noticed, survivors } = result;
  const score = scoreOf(result);
  const listed = survivors.map(({ object: _, ...mutant }) => mutant);
  return { mutants, run, noticed, ...(score !== undefined && { score }), survivors: listed };
}

/** In percent, rounded down: 100 means that every mutant was noticed. `undefined`: there is none. */
export function scoreOf({ run, noticed }: MutationResult): number | undefined {
  return run === 0 ? undefined : Math.floor((noticed / run) * 100);
}
