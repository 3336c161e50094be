/** Which rules, gates, tasks and verdicts a suite has seen, also as text. */

import { entryOf } from "../../lib/entry-of.ts";
import type { AdmissionDecision } from "../../policy/admission.ts";
import type { Decision, RuleTrace } from "../../policy/decision.ts";
import { type CompiledPolicy, type CompiledRule, type GateTrace, isGated } from "../../policy/policy.ts";
import { policyName, type PolicyRef } from "../../policy/policy-ref.ts";
import type { TaskState, TaskTrace } from "../../policy/tasks/task-trace.ts";
import type { Fleet } from "../fleet/fleet.ts";
import type { Colour } from "../terminal/colour.ts";
import { paragraphs } from "../terminal/tree.ts";

/** The results of a rule, or of a part of it, that the suites have seen, and those that are missing. */
export interface NameCoverage {
  readonly name: string;
  seen: readonly string[];
  unseen: readonly string[];
}

export interface RuleCoverage extends NameCoverage {
  /** The answers to requests; absent: the rule does not speak at admission. */
  readonly admission?: NameCoverage;
  readonly gates: readonly NameCoverage[];
  /** Absent: the rule has none. */
  readonly tasks?: readonly NameCoverage[];
}

export interface PolicyCoverage {
  /** HookPolicy team-a/protect */
  readonly policy: string;
  readonly rules: readonly RuleCoverage[];
}

/** The others are no phases to look for. */
const PHASE_OF: Partial<Record<TaskState, string>> = {
  NotNeeded: "not begun",
  Waiting: "not begun",
  Due: "not begun",
  Pending: "Running",
  Running: "Running",
  Succeeded: "Succeeded",
  Failed: "Failed",
  Proceeded: "Failed",
};

export class Coverage {
  /** By policyName(), then rule. */
  readonly #policies = new Map<string, Map<string, RuleCoverage>>();

  /** Adds policies whose rules can be seen. An edited policy has the rules of each of its versions. */
  know(policies: Fleet["policies"]): void {
    for (const { compiled } of policies) {
      const { ref, mode, rules } = compiled;
      const known = entryOf(this.#policies, policyName(ref), () => new Map());
      for (const rule of rules) entryOf(known, rule.name, () => unseenOf(rule, mode));
    }
  }

  see({ trace }: Decision): void {
    for (const { policy, rules } of trace) {
      for (const rule of rules) {
        const known = this.#seeGates(policy, rule);
        see(known, rule.verdict);
        for (const task of rule.tasks ?? []) seeTask(named(known?.tasks, task.task), task);
      }
    }
  }

  /** Counts the verdicts at admission apart from those of the hook; the gates are the same. */
  seeAtAdmission({ denial, warning }: AdmissionDecision): void {
    const traces = [...denial.trace, ...warning.trace];
    for (const [index, { policy, rules, holds }] of traces.entries()) {
      const verdict = index < denial.trace.length ? "Denied" : "Warned";
      for (const rule of rules) {
        const known = this.#seeGates(policy, rule);
        if (rule.verdict !== "Skipped") see(known?.admission, holds && rule.holds ? verdict : "Passed");
      }
    }
  }

  #seeGates(policy: PolicyRef, { rule, gates }: RuleTrace): RuleCoverage | undefined {
    const known = this.#policies.get(policyName(policy))?.get(rule);
    for (const gate of gates) see(named(known?.gates, gate.gate), stateOf(gate));
    return known;
  }

  policies(): PolicyCoverage[] {
    return [...this.#policies].map(([policy, rules]) => ({ policy, rules: [...rules.values()] }));
  }
}

function named(parts: readonly NameCoverage[] | undefined, name: string): NameCoverage | undefined {
  return parts?.find((each) => each.name === name);
}

function see(part: NameCoverage | undefined, result: string | undefined): void {
  if (part === undefined || result === undefined || part.seen.includes(result)) return;
  part.seen = [...part.seen, result];
  part.unseen = part.unseen.filter((each) => each !== result);
}

function seeTask(part: NameCoverage | undefined, { state, attempts = 0 }: TaskTrace): void {
  see(part, PHASE_OF[state]);
  if (attempts > 1) see(part, "retried");
}

function unseenPart(name: string, ...results: string[]): NameCoverage {
  return { name, seen: [], unseen: results };
}

/** NotEvaluable is not wanted, because few policies can have such a rule. */
function unseenOf(rule: CompiledRule, mode: CompiledPolicy["mode"]): RuleCoverage {
  const { name, gates, waits, tasks, admission, matchConditions } = rule;
  const skipped = matchConditions.length > 0 ? ["Skipped"] : [];
  const refuses = admission === "Deny" && mode === "Enforce" ? "Denied" : "Warned";
  return {
    ...unseenPart(name, ...(isGated(rule) ? ["Allowed", "Blocked"] : ["Observed"]), ...skipped),
    ...(admission !== undefined && { admission: unseenPart("admission", refuses, "Passed") }),
    gates: [...gates, ...waits].map((gate) => unseenPart(gate.name, "holds", "waits")),
    ...(tasks.length > 0 && {
      tasks: tasks.map((task) => {
        const retried = task.retries > 0 ? ["retried"] : [];
        return unseenPart(task.name, "not begun", "Running", ...retried, "Succeeded", "Failed");
      }),
    }),
  };
}

function stateOf({ met }: GateTrace): string {
  if (met === undefined) return "not evaluable";
  return met ? "holds" : "waits";
}

/** A rule or a part of it, with its name in the text. */
interface CoveredPart extends Pick<NameCoverage, "seen" | "unseen"> {
  readonly policy: string;
  readonly rule: string;
  readonly label: string;
  readonly path: string;
}

/** The parts of all rules, each once: what any of several suites has seen counts. */
function coveredParts(covered: readonly PolicyCoverage[]): readonly CoveredPart[] {
  const found = covered.flatMap(({ policy, rules }) => rules.flatMap((rule) => partsOf(policy, rule)));
  const parts = new Map<string, CoveredPart>();
  for (const part of [...Map.groupBy(found, ({ rule }) => rule).values()].flat()) {
    const known = parts.get(part.path) ?? part;
    const seen = new Set([...known.seen, ...part.seen]);
    const unseen = new Set([...known.unseen, ...part.unseen]).difference(seen);
    parts.set(part.path, { ...known, seen: [...seen], unseen: [...unseen] });
  }
  return [...parts.values()];
}

function partsOf(policy: string, covered: RuleCoverage): CoveredPart[] {
  const { name, admission, gates, tasks = [] } = covered;
  const rule = `${policy} ${name}`;
  const part = (label: string, below: string, { seen, unseen }: NameCoverage): CoveredPart => {
    return { policy, rule, label, path: `${rule}${below}`, seen, unseen };
  };
  return [
    part(`rule ${name}`, "", covered),
    ...(admission === undefined ? [] : [part("  admission", " admission", admission)]),
    ...gates.map((gate) => part(`  gate ${gate.name}`, `/${gate.name}`, gate)),
    ...tasks.map((task) => part(`  task ${task.name}`, `/tasks/${task.name}`, task)),
  ];
}

export function coverageLines(covered: readonly PolicyCoverage[], colour: Colour): string[] {
  const parts = coveredParts(covered);
  // What is not evaluable does not count.
  const seen = parts.flatMap((each) => each.seen).filter((each) => !/^not ?evaluable$/i.test(each)).length;
  const of = seen + parts.flatMap(({ unseen }) => unseen).length;
  const percent = of === 0 ? 100 : Math.floor((seen / of) * 100);
  const summary = `${seen} of ${of} verdicts, gates and phases of tasks seen: ${percent} %`;
  return paragraphs([
    ...[...Map.groupBy(parts, ({ policy }) => policy)].map(([policy, own]) => [
      colour.bold(policy),
      ...own.map((part) => `  ${part.label}: ${seenText(part, colour)}`),
    ]),
    [seen === of ? colour.green(summary) : summary],
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
