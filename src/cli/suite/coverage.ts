/** Which rules, gates and verdicts a suite has seen. */

import { ADMISSION_VERDICTS, type AdmissionDecision } from "../../policy/admission.ts";
import type { Decision, GateTrace, RuleTrace } from "../../policy/decision.ts";
import { type CompiledPolicy, type CompiledRule, isGated } from "../../policy/policy.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { CompiledTask } from "../../policy/tasks/compiled-task.ts";
import type { TaskState } from "../../policy/tasks/task-trace.ts";

export type RuleVerdict = RuleTrace["verdict"];
export type GateState = "holds" | "waits" | "not evaluable";
export type TaskPhase = "not begun" | "Running" | "retried" | "Succeeded" | "Failed";

/** The results of one rule or gate that the suites have seen, and those that are missing. */
export interface NameCoverage<T extends string> {
  readonly name: string;
  readonly seen: readonly T[];
  readonly unseen: readonly T[];
}

export interface RuleCoverage extends NameCoverage<RuleVerdict> {
  /** The answers to requests; absent: the rule does not speak at admission. */
  readonly admission?: NameCoverage<AdmissionDecision["verdict"]>;
  readonly gates: readonly NameCoverage<GateState>[];
  /** Absent: the rule has none. */
  readonly tasks?: readonly NameCoverage<TaskPhase>[];
}

export interface PolicyCoverage {
  /** HookPolicy team-a/protect */
  readonly policy: string;
  readonly rules: readonly RuleCoverage[];
}

const VERDICTS: readonly RuleVerdict[] = ["Allowed", "Observed", "Blocked", "Skipped", "NotEvaluable"];
const STATES: readonly GateState[] = ["holds", "waits", "not evaluable"];
const PHASES: readonly TaskPhase[] = ["not begun", "Running", "retried", "Succeeded", "Failed"];
/** The others are no phases to look for. */
const PHASE_OF: Partial<Record<TaskState, TaskPhase>> = {
  NotNeeded: "not begun",
  Waiting: "not begun",
  Due: "not begun",
  Pending: "Running",
  Running: "Running",
  Succeeded: "Succeeded",
  Failed: "Failed",
  Proceeded: "Failed",
};

interface Tally<T extends string> {
  readonly wanted: ReadonlySet<T>;
  readonly seen: Set<T>;
}

interface RuleRecord extends Tally<RuleVerdict> {
  readonly admission?: Tally<AdmissionDecision["verdict"]>;
  /** By name. */
  readonly gates: ReadonlyMap<string, Tally<GateState>>;
  /** By name. */
  readonly tasks: ReadonlyMap<string, Tally<TaskPhase>>;
}

export class Coverage {
  /** By policyName(), then rule. */
  readonly #policies = new Map<string, Map<string, RuleRecord>>();

  /** Adds policies whose rules can be seen. An edited policy has the rules of each of its versions. */
  know(policies: readonly CompiledPolicy[]): void {
    for (const { ref, mode, rules } of policies) {
      const known = this.#policies.get(policyName(ref)) ?? new Map<string, RuleRecord>();
      this.#policies.set(policyName(ref), known);
      for (const rule of rules) if (!known.has(rule.name)) known.set(rule.name, recordOf(rule, mode));
    }
  }

  see({ trace }: Decision): void {
    for (const { policy, rules } of trace) {
      const known = this.#policies.get(policyName(policy));
      for (const rule of rules) {
        const record = known?.get(rule.rule);
        record?.seen.add(rule.verdict);
        seeGates(record, rule);
        seeTasks(record, rule);
      }
    }
  }

  /** Counts the verdicts at admission apart from those of the hook; the gates are the same. */
  seeAtAdmission({ denial, warning }: AdmissionDecision): void {
    const spoken = [
      ...denial.trace.map((trace) => ({ trace, verdict: "Denied" as const })),
      ...warning.trace.map((trace) => ({ trace, verdict: "Warned" as const })),
    ];
    for (const { trace, verdict } of spoken) {
      const known = this.#policies.get(policyName(trace.policy));
      for (const rule of trace.rules) {
        const record = known?.get(rule.rule);
        const said = trace.holds && rule.holds ? verdict : "Passed";
        if (rule.verdict !== "Skipped") record?.admission?.seen.add(said);
        seeGates(record, rule);
      }
    }
  }

  policies(): PolicyCoverage[] {
    return [...this.#policies].map(([policy, rules]) => ({
      policy,
      rules: [...rules].map(([name, { admission, gates, tasks, ...verdicts }]) => ({
        ...compared(name, VERDICTS, verdicts),
        ...(admission !== undefined && { admission: compared("admission", ADMISSION_VERDICTS, admission) }),
        gates: [...gates].map(([gate, states]) => compared(gate, STATES, states)),
        ...(tasks.size > 0 && { tasks: [...tasks].map(([task, seen]) => compared(task, PHASES, seen)) }),
      })),
    }));
  }
}

/** NotEvaluable is not wanted, because few policies can have such a rule. */
function recordOf(rule: CompiledRule, mode: CompiledPolicy["mode"]): RuleRecord {
  const skipped: RuleVerdict[] = rule.matchConditions.length > 0 ? ["Skipped"] : [];
  const verdicts: RuleVerdict[] = isGated(rule) ? ["Allowed", "Blocked"] : ["Observed"];
  const gates = [...rule.gates, ...rule.waits].map(
    ({ name }) => [name, tally<GateState>("holds", "waits")] as const,
  );
  const refuses = rule.admission === "Deny" && mode === "Enforce" ? "Denied" : "Warned";
  return {
    ...tally(...verdicts, ...skipped),
    ...(rule.admission !== undefined && { admission: tally(refuses, "Passed") }),
    gates: new Map(gates),
    tasks: new Map(rule.tasks.map((task) => [task.name, tally(...phasesOf(task))])),
  };
}

function phasesOf({ retries }: CompiledTask): readonly TaskPhase[] {
  return PHASES.filter((phase) => phase !== "retried" || retries > 0);
}

function tally<T extends string>(...wanted: readonly T[]): Tally<T> {
  return { wanted: new Set(wanted), seen: new Set() };
}

function seeGates(record: RuleRecord | undefined, { gates }: RuleTrace): void {
  for (const gate of gates) record?.gates.get(gate.gate)?.seen.add(stateOf(gate));
}

function seeTasks(record: RuleRecord | undefined, { tasks = [] }: RuleTrace): void {
  for (const { task, state, attempts = 0 } of tasks) {
    const seen = record?.tasks.get(task)?.seen;
    const phase = PHASE_OF[state];
    if (phase !== undefined) seen?.add(phase);
    if (attempts > 1) seen?.add("retried");
  }
}

function stateOf({ met }: GateTrace): GateState {
  if (met === undefined) return "not evaluable";
  return met ? "holds" : "waits";
}

function compared<T extends string>(
  name: string,
  all: readonly T[],
  { seen, wanted }: Tally<T>,
): NameCoverage<T> {
  return {
    name,
    seen: all.filter((each) => seen.has(each)),
    unseen: all.filter((each) => wanted.has(each) && !seen.has(each)),
  };
}

/** Merges the coverage of several suites: a result counts if any of them has seen it. */
export function together(covered: readonly PolicyCoverage[]): PolicyCoverage[] {
  return [...Map.groupBy(covered, ({ policy }) => policy)].map(([policy, versions]) => {
    const rules = Map.groupBy(
      versions.flatMap((version) => version.rules),
      ({ name }) => name,
    );
    return { policy, rules: [...rules.values()].map(rulesTogether) };
  });
}

function rulesTogether(rules: readonly RuleCoverage[]): RuleCoverage {
  const gates = Map.groupBy(
    rules.flatMap((rule) => rule.gates),
    ({ name }) => name,
  );
  const admission = rules.flatMap((rule) => rule.admission ?? []);
  const tasks = Map.groupBy(
    rules.flatMap((rule) => rule.tasks ?? []),
    ({ name }) => name,
  );
  return {
    ...seenTogether(rules),
    ...(admission.length > 0 && { admission: seenTogether(admission) }),
    gates: [...gates.values()].map(seenTogether),
    ...(tasks.size > 0 && { tasks: [...tasks.values()].map(seenTogether) }),
  };
}

function seenTogether<T extends string>(versions: readonly NameCoverage<T>[]): NameCoverage<T> {
  const seen = new Set(versions.flatMap((version) => version.seen));
  const unseen = new Set(versions.flatMap((version) => version.unseen)).difference(seen);
  return { name: versions[0]?.name ?? "", seen: [...seen], unseen: [...unseen] };
}

export interface CoverageTotal {
  readonly seen: number;
  readonly of: number;
}

/** Counts the verdicts of rules, whether gates are met or wait, and the phases of tasks. Results that are not evaluable do not count. */
export function totalOf(policies: readonly PolicyCoverage[]): CoverageTotal {
  const all = policies.flatMap(({ rules }) =>
    rules.flatMap((rule) => [rule, rule.admission ?? [], ...rule.gates, ...(rule.tasks ?? [])].flat()),
  );
  const seen = all.reduce((sum, each) => sum + each.seen.filter(isWanted).length, 0);
  return { seen, of: seen + all.reduce((sum, { unseen }) => sum + unseen.length, 0) };
}

function isWanted(seen: RuleVerdict | GateState | TaskPhase | AdmissionDecision["verdict"]): boolean {
  return seen !== "NotEvaluable" && seen !== "not evaluable";
}

/** In percent, rounded down; 100 if there is nothing to see. */
export function percentOf({ seen, of }: CoverageTotal): number {
  return of === 0 ? 100 : Math.floor((seen / of) * 100);
}
