/** Prints which mutants the suites have noticed. */

import type { Colour } from "../../terminal/colour.ts";
import { paragraphs } from "../../terminal/tree.ts";
import type { Mutant } from "./mutants.ts";

export interface MutationResult {
  readonly mutants: number;
  /** Mutants that the suites were run against; fewer if the time was up. */
  readonly run: number;
  readonly noticed: number;
  readonly survivors: readonly Mutant[];
}

export function mutationLines(result: MutationResult, colour: Colour): string[] {
  const { survivors } = result;
  return paragraphs([
    survivors.length === 0 ? [] : [colour.bold("No suite noticed:")],
    ...survivors.map((mutant) => survivorLines(mutant, colour)),
    totalLines(result, colour),
  ]);
}

function survivorLines(mutant: Mutant, colour: Colour): string[] {
  const { file, line, column, policy, path, before, after } = mutant;
  const change =
    after === undefined ? " is removed" : `: ${colour.red(before ?? "none")} → ${colour.green(after)}`;
  return [`${policy}  ${colour.dim(`${file}:${line}:${column}`)}`, `  ${path}${change}`];
}

function totalLines(result: MutationResult, colour: Colour): string[] {
  const { mutants, run, noticed, survivors } = result;
  const score = scoreOf(result);
  const text = `${noticed} of ${run} mutants noticed${score === undefined ? "" : `: ${score} %`}`;
  const left = mutants - run;
  return [
    (survivors.length === 0 ? colour.green : colour.red)(text),
    ...(left > 0
      ? [colour.red(`the time was up: no suite was run against ${left} more (--timeout)`)]
      : []),
  ];
}

/** Schema: schemas/output/testmutants.json. */
export function mutationJson(result: MutationResult): object {
  const score = scoreOf(result);
  return { ...result, ...(score !== undefined && { score }) };
}

/** In percent, rounded down: 100 means that every mutant was noticed. `undefined`: there is none. */
export function scoreOf({ run, noticed }: MutationResult): number | undefined {
  return run === 0 ? undefined : Math.floor((noticed / run) * 100);
}
