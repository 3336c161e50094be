/** Prints the coverage of suites as text, and as the properties of a JUnit suite. */

import type { Colour } from "../terminal/colour.ts";
import { paragraphs } from "../terminal/tree.ts";
import { type NameCoverage, percentOf, type PolicyCoverage, type RuleCoverage, totalOf } from "./coverage.ts";

export function coverageLines(policies: readonly PolicyCoverage[], colour: Colour): string[] {
  const total = totalOf(policies);
  const hasTasks = policies.some(({ rules }) => rules.some(({ tasks }) => tasks !== undefined));
  const what = hasTasks ? "verdicts, gates and phases of tasks" : "verdicts and gates";
  const summary = `${total.seen} of ${total.of} ${what} seen: ${percentOf(total)} %`;
  return paragraphs([
    ...policies.map(({ policy, rules }) => [
      colour.bold(policy),
      ...rules
        .flatMap(partsOf)
        .map(
          ({ label, part }) =>
            `${label.startsWith("rule ") ? "  " : "    "}${label}: ${seenText(part, colour)}`,
        ),
    ]),
    [total.seen === total.of ? colour.green(summary) : summary],
  ]);
}

function seenText({ seen, unseen }: NameCoverage, colour: Colour): string {
  const never = unseen.length === 0 ? [] : [colour.red(`never ${inWords(unseen)}`)];
  return [...(seen.length === 0 ? [] : [inWords(seen)]), ...never].join("; ");
}

/** In -o json, the state of a gate that is met is "holds". */
function inWords(states: readonly string[]): string {
  return states.map((state) => (state === "holds" ? "met" : state)).join(", ");
}

export function coverageProperties(policies: readonly PolicyCoverage[]): [string, string][] {
  if (policies.length === 0) return [];
  const parts = policies.flatMap(({ policy, rules }) =>
    rules
      .flatMap(partsOf)
      .map(({ path, part }): [string, string] => [`${policy} ${path}`, part.seen.join(", ")]),
  );
  return [["coverage", String(percentOf(totalOf(policies)))], ...parts];
}

/** The rule itself, and its parts, with their names in text and in JUnit. */
function partsOf(rule: RuleCoverage): { label: string; path: string; part: NameCoverage }[] {
  const { name: of, admission, gates, tasks = [] } = rule;
  return [
    { label: `rule ${of}`, path: of, part: rule },
    ...(admission === undefined ? [] : [{ label: "admission", path: `${of} admission`, part: admission }]),
    ...gates.map((part) => ({ label: `gate ${part.name}`, path: `${of}/${part.name}`, part })),
    ...tasks.map((part) => ({ label: `task ${part.name}`, path: `${of}/tasks/${part.name}`, part })),
  ];
}
