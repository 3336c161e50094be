/** Makes a step of each answer and refusal in an audit log: its time, the changes before it, and its verdict. */

import { holdingRules } from "../../../policy/decision.ts";
import { type Fields, fieldsOf, listOf, named } from "../../../lib/fields.ts";
import { namespacedName } from "../../../lib/keys.ts";
import { isMetByMarks, marksOf, membersOf } from "../../../policy/gates/gates.ts";
import { type MarkPlace, placeOf } from "../../../policy/mark.ts";
import type { Cluster } from "../../../api/meta.ts";
import type { HookCall } from "../../../api/runtime-hooks.ts";
import { about } from "../../../operations/call.ts";
import { parseDuration } from "../../../lib/duration.ts";
import type { ClusterCall } from "../../../policy/world.ts";
import { policyName } from "../../../policy/policy-ref.ts";
import { viewMetadata } from "../../../views/cluster.ts";
import type { Fleet } from "../../fleet/fleet.ts";
import { ownKind, type RawObject } from "../../fleet/kinds.ts";
import { callText } from "../result.ts";
import type { AskedSpec, ExpectSpec, StepSpec, SuiteSpec, TimersSpec } from "../spec.gen.ts";
import type { CallSpec, RequestSpec } from "../spec.ts";
import { type RecordedAnswer, refusedRequest } from "./audit-lines.ts";

export interface RecordedStep {
  readonly step: StepSpec;
  /** Absent: the step expects nothing of it any more. */
  readonly answer?: RecordedAnswer;
}

interface Recording extends Pick<SuiteSpec, "at" | "asked"> {
  readonly recorded: readonly RecordedStep[];
}

/** `answers`: at least one, about Clusters of the fleet, in the order of time. */
export function record(
  answers: readonly RecordedAnswer[],
  fleet: Fleet,
  overrides: readonly RawObject[],
): Recording {
  const kept = withoutRepeats(answers);
  const recorder = new Recorder(fleet, overrides);
  const recorded = kept.map((answer) => ({ step: recorder.step(answer), answer }));
  const at = kept[0]?.time ?? "";
  const asked = recorder.askedBefore(at, kept);
  return { at, ...(asked.length > 0 && { asked }), recorded };
}

/** Replicas repeat each other's answers, and their own after a restart or to a user who tries again. */
function withoutRepeats(answers: readonly RecordedAnswer[]): RecordedAnswer[] {
  const last = new Map<string, string>();
  return answers.filter((answer) => {
    const operation = operationOf(answer);
    const policies = answer.decision.policies.map(({ rules, overriddenBy }) => [rules, overriddenBy]);
    const reasons = JSON.stringify([answer.verdict, policies]);
    const isRepeat = last.get(operation) === reasons;
    last.set(operation, reasons);
    return !isRepeat;
  });
}

function operationOf({ kind, cluster, hook, targetVersion }: RecordedAnswer): string {
  return [kind, cluster.namespace, cluster.name, hook, targetVersion].join(" ");
}

/** "BeforeClusterDelete team-a/prod-1", or "admission: Delete team-a/prod-1" */
export function answerText(answer: RecordedAnswer): string {
  return callText({ ...callOf(answer), admission: refusedRequest(answer) });
}

class Recorder {
  readonly #fleet: Fleet;
  /** The overrides that no answer has named yet, by name. */
  readonly #overrides: Map<string, RawObject>;
  /** The values that earlier steps have set, by object, field and key. */
  readonly #marks = new Map<string, string | null>();
  readonly #deleted = new Set<string>();

  constructor(fleet: Fleet, overrides: readonly RawObject[]) {
    this.#fleet = fleet;
    const own = overrides.filter((raw) => ownKind(raw) === "HookOverride");
    this.#overrides = new Map(own.map((raw) => [viewMetadata(raw["metadata"]).name, raw]));
  }

  step(answer: RecordedAnswer): StepSpec {
    const cluster = this.#fleet.cluster(answer.cluster.namespace, answer.cluster.name);
    const marks = cluster === undefined ? [] : this.#newMarks(answer, cluster, callOf(answer));
    const patch = [...deletion(answer, this.#deleted), ...patchesOf(marks, answer)];
    const create = answer.decision.inputs.overrides.flatMap(({ name }) => this.#takeOverride(name));
    return {
      name: `${answer.time} ${answerText(answer)}`,
      at: answer.time,
      ...(create.length > 0 && { create }),
      ...(patch.length > 0 && { patch }),
      call: requestSpecOf(answer) ?? callOf(answer),
      expect: expectationOf(answer),
    };
  }

  /** The operations that began before the log, with the deadlines that the answers contain, and the waits without other gates. */
  askedBefore(at: string, answers: readonly RecordedAnswer[]): AskedSpec[] {
    const calls = answers.filter(({ kind }) => kind === "Answer");
    return [...Map.groupBy(calls, operationOf).values()].flatMap(([answer]): AskedSpec[] => {
      if (answer === undefined) return [];
      const { firstAsked } = answer.decision;
      const isEarlier = firstAsked !== undefined && Date.parse(firstAsked) < Date.parse(at);
      if (!isEarlier) return [];
      const timers = this.#timersOf(answer);
      return [{ ...callOf(answer), firstAsked, ...(timers.length > 0 && { timers }) }];
    });
  }

  #timersOf({ decision: { policies, firstAsked } }: RecordedAnswer): TimersSpec[] {
    return policies.flatMap((policy) =>
      policy.rules.flatMap(({ rule, deadlineAt }): TimersSpec[] => {
        const { deadline, until } = this.#ruleSpec(policyName(policy), rule);
        const { after } = fieldsOf(deadline);
        const afterMs = typeof after === "string" ? parseDuration(after) : undefined;
        const hasDeadline = deadlineAt !== undefined && afterMs !== undefined;
        const waitsAlone =
          listOf(until).length > 0 && listOf(until).every((gate) => "wait" in fieldsOf(gate));
        if (!hasDeadline && !waitsAlone) return [];
        return [
          {
            policy: policyName(policy),
            rule,
            ...(hasDeadline && { blockedSince: new Date(Date.parse(deadlineAt) - afterMs).toISOString() }),
            ...(waitsAlone && firstAsked !== undefined && { gatesMetSince: firstAsked }),
          },
        ];
      }),
    );
  }

  #ruleSpec(policy: string, rule: string): Fields {
    const found = this.#fleet.policies.find(({ compiled }) => policyName(compiled.ref) === policy);
    return named(fieldsOf(found?.raw["spec"])["rules"], rule);
  }

  #newMarks(answer: RecordedAnswer, cluster: Cluster, call: HookCall): Mark[] {
    const wanted = answer.decision.policies.flatMap((policy) =>
      policy.rules.flatMap(({ rule, gates }) =>
        marksOfGates(this.#ruleSpec(policyName(policy), rule), gates, { cluster, call }),
      ),
    );
    // A value that one gate needs is not removed for another gate, which may want another value.
    const held = new Set(wanted.filter(({ value }) => value !== null).map(placeOf));
    return wanted
      .filter((mark) => mark.value !== null || !held.has(placeOf(mark)))
      .filter((mark) => {
        const key = `${mark.on === "Cluster" ? answer.cluster.name : ""} ${answer.cluster.namespace} ${placeOf(mark)}`;
        const isKnown = this.#marks.get(key) === mark.value;
        this.#marks.set(key, mark.value);
        return !isKnown && (mark.on === "Cluster" || this.#fleet.namespace(answer.cluster.namespace));
      });
  }

  #takeOverride(name: string): RawObject[] {
    const raw = this.#overrides.get(name);
    this.#overrides.delete(name);
    return raw === undefined ? [] : [raw];
  }
}

function callOf({ hook, cluster: { namespace, name }, targetVersion }: RecordedAnswer): CallSpec {
  return { ...about({ hook }, targetVersion), cluster: `${namespace}/${name}` };
}

function requestSpecOf(answer: RecordedAnswer): RequestSpec | undefined {
  const admission = refusedRequest(answer);
  if (admission === undefined) return undefined;
  const { hook: _, ...request } = callOf(answer);
  return { admission, ...request };
}

/** The Cluster's deletion began when its operation did. */
function deletion(
  { kind, hook, cluster, decision: { firstAsked } }: RecordedAnswer,
  known: Set<string>,
): RawObject[] {
  const { namespace, name } = cluster;
  const key = namespacedName(cluster);
  const begins = kind === "Answer" && hook === "BeforeClusterDelete";
  if (!begins || firstAsked === undefined || known.has(key)) return [];
  known.add(key);
  return [{ kind: "Cluster", metadata: { namespace, name, deletionTimestamp: firstAsked } }];
}

function patchesOf(marks: readonly Mark[], { cluster: { namespace, name } }: RecordedAnswer): RawObject[] {
  const patches = Map.groupBy(marks, ({ on }) => on);
  return [...patches].map(([kind, own]) => {
    const fields = Map.groupBy(own, ({ field }) => field);
    const changed = [...fields].map(
      ([field, each]) =>
        [`${field}s`, Object.fromEntries(each.map(({ key, value }) => [key, value]))] as const,
    );
    const object = kind === "Cluster" ? { namespace, name } : { name: namespace };
    return { kind, metadata: { ...object, ...Object.fromEntries(changed) } };
  });
}

/** Expects the first rule that holds, Blocked before NotEvaluable, and its first gate that is not met. */
function expectationOf(answer: RecordedAnswer): ExpectSpec {
  const { verdict, decision } = answer;
  const expected = refusedRequest(answer) === undefined ? verdict : "Denied";
  if (verdict === "Allowed" || verdict === "Observed") return { verdict };
  const policy = decision.policies.find((each) => each.verdict === verdict);
  const [rule] = holdingRules(policy?.rules ?? []);
  if (policy === undefined || rule === undefined) return { verdict: expected };
  const gate = rule.gates.find(({ holds }) => holds !== true);
  return {
    verdict: expected,
    policy: policyName(policy),
    rule: rule.rule,
    ...(gate !== undefined && { gate: gate.gate, reason: gate.reason }),
  };
}

/** Inferred from whether gates were met, because an audit log does not contain it. */
interface Mark extends MarkPlace {
  /** null: it is absent, or has another value. */
  readonly value: string | null;
}

/** The marks that explain which gates of the rule were met. */
function marksOfGates(
  rule: unknown,
  gates: readonly { readonly gate: string; readonly holds: boolean | null }[],
  { cluster, call }: ClusterCall,
): Mark[] {
  return gates.flatMap(({ gate: name, holds }) => {
    if (holds === null) return [];
    const members = membersOf(named(fieldsOf(rule)["until"], name));
    // If anyOf was met, its first member is taken, because the audit log does not say which of them was.
    const met = members.every(isMetByMarks) ? members.slice(0, 1) : [];
    return (holds ? met : members)
      .flatMap((gate) => marksOf(gate, cluster, call))
      .map((mark): Mark => ({ ...mark, value: holds ? mark.value : null }));
  });
}
