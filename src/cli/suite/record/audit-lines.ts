/** Reads the answers and refusals of an audit log (schemas/output/audit.json). */

import type { AuditEntry, AuditRefusal } from "../../../report/audit-entry.ts";
import { type Fields, fieldsOf, isFields, listOf, parseJson, textOf } from "../../../lib/fields.ts";
import { HOOK_NAMES } from "../../../api/runtime-hooks.ts";
import type { Verdict } from "../../../policy/decision.ts";
import { VERDICTS } from "../suite-schema.ts";
import { BEGINS, type Operation, operationOf } from "../../../operations/beginnings.ts";

interface DecisionRecord {
  readonly verdict: Verdict;
  readonly decision: NonNullable<AuditEntry["decision"]>;
}

/** An answer to a hook, or a refusal at admission, that rests on a decision. */
export type RecordedAnswer = (AuditEntry & DecisionRecord) | (AuditRefusal & DecisionRecord);

/** The refused request; `undefined`: an answer to Cluster API. */
export function refusedRequest({ kind, hook }: RecordedAnswer): Operation | undefined {
  return kind === "Answer" ? undefined : operationOf(hook);
}

/** The HookRollout that held what every policy released; "": none. */
export function holdingRollout({ decision }: RecordedAnswer): string {
  return textOf(fieldsOf(decision.rollout)["name"]);
}

/** `others`: the number of lines that are none, for example because they rest on no decision, are torn or of the ordinary log. */
export function readAuditLines(text: string): {
  /** Of all replicas, in the order of time. */
  readonly answers: readonly RecordedAnswer[];
  readonly others: number;
} {
  const lines = text.split("\n").filter((line) => line.trim() !== "");
  const answers = lines.map(parseJson).filter(isAnswer);
  answers.sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
  return { answers, others: lines.length - answers.length };
}

const HOOKS: Readonly<Record<string, readonly string[]>> = {
  Answer: HOOK_NAMES,
  Refusal: Object.values(BEGINS),
};
const DECIDED: readonly string[] = VERDICTS;

/** Checks every field that is read later, because the file can come from anywhere. */
function isAnswer(value: unknown): value is RecordedAnswer {
  const { apiVersion, kind, time, hook, verdict, cluster, decision } = fieldsOf(value);
  const { namespace, name } = fieldsOf(cluster);
  const { policies, inputs } = fieldsOf(decision);
  const all = listOf(policies).map(fieldsOf);
  const rules = all.flatMap((policy) => listOf(policy["rules"])).map(fieldsOf);
  return (
    apiVersion === "audit.hookpolicy.dev/v1alpha1" &&
    [time, namespace, name].every((each) => typeof each === "string") &&
    !Number.isNaN(Date.parse(String(time))) &&
    HOOKS[String(kind)]?.includes(String(hook)) === true &&
    DECIDED.includes(String(verdict)) &&
    isListOf(fieldsOf(inputs)["overrides"], ["name"]) &&
    isListOf(policies, ["kind", "name"]) &&
    all.every((policy) => isListOf(policy["rules"], ["rule"])) &&
    rules.every((rule) => isListOf(rule["gates"], ["gate", "reason"]))
  );
}

/** Whether it is a list of objects that have these texts. */
function isListOf(value: unknown, texts: readonly string[]): boolean {
  const hasTexts = (item: Fields): boolean => texts.every((field) => typeof item[field] === "string");
  return Array.isArray(value) && value.every((item: unknown) => isFields(item) && hasTexts(item));
}
