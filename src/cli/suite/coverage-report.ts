/** Prints the coverage of suites as text, and as the properties of a JUnit suite. */

import type { Colour } from "../terminal/colour.ts";
import { paragraphs } from "../terminal/tree.ts";
import { type CoveredPart, coveredParts, percentOf, type PolicyCoverage, totalOf } from "./coverage.ts";

export function coverageLines(covered: readonly PolicyCoverage[], colour: Colour): string[] {
  const parts = coveredParts(covered);
  const total = totalOf(parts);
  const summary = `${total.seen} of ${total.of} verdicts, gates and phases of tasks seen: ${percentOf(total)} %`;
  return paragraphs([
    ...[...Map.groupBy(parts, ({ policy }) => policy)].map(([policy, own]) => [
      colour.bold(policy),
      ...own.map((part) => `  ${part.label}: ${seenText(part, colour)}`),
    ]),
    [total.seen === total.of ? colour.green(summary) : summary],
  ]);
}

function seenText({ seen, unseen }: CoveredPart, colour: Colour): string {
  const never = unseen.length === 0 ? [] : [colour.red(`never ${inWords(unseen)}`)];
  return [...(seen.length === 0 ? [] : [inWords(seen)]), ...never].join("; ");
}

/** In -o json, the state of a gate that is met is "holds". */
function inWords(states: readonly string[]): string {
  return states.map((state) => (state === "holds" ? "met" : state)).join(", ");
}

export function coverageProperties(covered: readonly PolicyCoverage[]): [string, string][] {
  const parts = coveredParts(covered);
  if (parts.length === 0) return [];
  const percent = String(percentOf(totalOf(parts)));
  return [["coverage", percent], ...parts.map(({ path, seen }): [string, string] => [path, seen.join(", ")])];
}
