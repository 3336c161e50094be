/** Prints the coverage of suites as text, and as the properties of a JUnit suite. */

import type { Colour } from "../terminal/colour.ts";
import { paragraphs } from "../terminal/tree.ts";
import { percentOf, type PolicyCoverage, type NameCoverage, totalOf } from "./coverage.ts";

export function coverageLines(policies: readonly PolicyCoverage[], colour: Colour): string[] {
  const total = totalOf(policies);
  const hasTasks = policies.some(({ rules }) => rules.some(({ tasks }) => tasks !== undefined));
  const what = hasTasks ? "verdicts, gates and phases of tasks" : "verdicts and gates";
  const summary = `${total.seen} of ${total.of} ${what} seen: ${percentOf(total)} %`;
  return paragraphs([
    ...policies.map((policy) => policyLines(policy, colour)),
    [total.seen === total.of ? colour.green(summary) : summary],
  ]);
}

function policyLines({ policy, rules }: PolicyCoverage, colour: Colour): string[] {
  return [
    colour.bold(policy),
    ...rules.flatMap((rule) => [
      `  rule ${rule.name}: ${seenText(rule, colour)}`,
      ...(rule.admission === undefined ? [] : [`    admission: ${seenText(rule.admission, colour)}`]),
      ...rule.gates.map((gate) => `    gate ${gate.name}: ${seenText(gate, colour)}`),
      ...(rule.tasks ?? []).map((task) => `    task ${task.name}: ${seenText(task, colour)}`),
    ]),
  ];
}

function seenText({ seen, unseen }: NameCoverage<string>, colour: Colour): string {
  const never = unseen.length === 0 ? [] : [colour.red(`never ${inWords(unseen)}`)];
  return [...(seen.length === 0 ? [] : [inWords(seen)]), ...never].join("; ");
}

/** In -o json, the state of a gate that is met is "holds". */
function inWords(states: readonly string[]): string {
  return states.map((state) => (state === "holds" ? "met" : state)).join(", ");
}

/** Names and values. */
export function coverageProperties(policies: readonly PolicyCoverage[]): [string, string][] {
  if (policies.length === 0) return [];
  const parts = policies.flatMap(({ policy, rules }) =>
    rules.flatMap((rule) => [
      property(`${policy} ${rule.name}`, rule),
      ...(rule.admission === undefined ? [] : [property(`${policy} ${rule.name} admission`, rule.admission)]),
      ...rule.gates.map((gate) => property(`${policy} ${rule.name}/${gate.name}`, gate)),
      ...(rule.tasks ?? []).map((task) => property(`${policy} ${rule.name}/tasks/${task.name}`, task)),
    ]),
  );
  return [["coverage", String(percentOf(totalOf(policies)))], ...parts];
}

function property(name: string, { seen }: NameCoverage<string>): [string, string] {
  return [name, seen.join(", ")];
}
