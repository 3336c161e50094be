/** Reads the answers and refusals of an audit log (schemas/output/audit.json). */

import type { AuditEntry, AuditRefusal } from "../../../report/audit-entry.ts";
import { type Fields, fieldsOf, isFields, listOf } from "../../../lib/fields.ts";
import { HOOK_NAMES } from "../../../api/runtime-hooks.ts";
import type { Verdict } from "../../../policy/decision.ts";
import { VERDICTS } from "../suite-schema.ts";
import { REQUEST_HOOKS, type RequestName, REQUESTS } from "../../fleet/request-names.ts";

interface DecisionRecord {
  readonly verdict: Verdict;
  readonly decision: NonNullable<AuditEntry["decision"]>;
}

/** An answer to a hook, or a refusal at admission, that rests on a decision. */
export type RecordedAnswer = (AuditEntry & DecisionRecord) | (AuditRefusal & DecisionRecord);

/** The refused request; `undefined`: an answer to Cluster API. */
export function requestOf({ kind, hook }: RecordedAnswer): RequestName | undefined {
  return kind === "Answer" ? undefined : REQUESTS.find((request) => REQUEST_HOOKS[request] === hook);
}

interface AuditLines {
  /** The answers of all replicas, in the order of time. */
  readonly answers: readonly RecordedAnswer[];
  /** Lines without a decision, such as NotConfirmed. */
  readonly undecided: number;
  /** Lines that are neither answers nor refusals of an audit log. */
  readonly others: number;
}

export function readAuditLines(text: string): AuditLines {
  const answers: RecordedAnswer[] = [];
  let [undecided, others] = [0, 0];
  for (const line of text.split("\n")) {
    if (line.trim() === "") continue;
    const entry = parseEntry(line);
    if (entry === undefined) others += 1;
    else if (isAnswered(entry)) answers.push(entry);
    else undecided += 1;
  }
  answers.sort((a, b) => Date.parse(a.time) - Date.parse(b.time));
  return { answers, undecided, others };
}

/** `undefined`: the line is no entry, for example because it is torn or belongs to the ordinary log. */
function parseEntry(line: string): AuditEntry | AuditRefusal | undefined {
  let value: unknown;
  try {
    value = JSON.parse(line);
  } catch {
    return undefined;
  }
  return isEntry(value) ? value : undefined;
}

function isEntry(value: unknown): value is AuditEntry | AuditRefusal {
  if (!isFields(value)) return false;
  const { apiVersion, kind, time, hook, verdict } = value;
  const { namespace, name } = fieldsOf(value["cluster"]);
  const hooks = kind === "Answer" ? HOOK_NAMES : kind === "Refusal" ? Object.values(REQUEST_HOOKS) : [];
  return (
    apiVersion === "audit.hookpolicy.dev/v1alpha1" &&
    [time, verdict, namespace, name].every((each) => typeof each === "string") &&
    !Number.isNaN(Date.parse(String(time))) &&
    hooks.some((known) => known === hook)
  );
}

const DECIDED: ReadonlySet<string> = new Set(VERDICTS);

/** Checks every field that is read later, because the file can come from anywhere. */
function isAnswered(entry: AuditEntry | AuditRefusal): entry is RecordedAnswer {
  const decision = fieldsOf(entry.decision);
  const { overrides } = fieldsOf(decision["inputs"]);
  const policies = listOf(decision["policies"]).map(fieldsOf);
  const rules = policies.flatMap((policy) => listOf(policy["rules"])).map(fieldsOf);
  return (
    DECIDED.has(entry.verdict) &&
    isListOf(overrides, ["name"]) &&
    isListOf(decision["policies"], ["kind", "name"]) &&
    policies.every((policy) => isListOf(policy["rules"], ["rule"])) &&
    rules.every((rule) => isListOf(rule["gates"], ["gate", "reason"]))
  );
}

/** Whether it is a list of objects that have these texts. */
function isListOf(value: unknown, texts: readonly string[]): boolean {
  const hasTexts = (item: Fields): boolean => texts.every((field) => typeof item[field] === "string");
  return Array.isArray(value) && value.every((item: unknown) => isFields(item) && hasTexts(item));
}
