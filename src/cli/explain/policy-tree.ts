/** Draws a policy, its rules and their gates as a tree. */

import type { AdmissionDecision } from "../../policy/admission.ts";
import type { Verdict } from "../../policy/decision.ts";
import { durationText } from "../../lib/duration.ts";
import type { CommandLine } from "../../lib/shell-quote.ts";
import { timestamp } from "../../lib/instant.ts";
import { type GateTrace, NAMESPACE_UNKNOWN } from "../../policy/policy.ts";
import type { TaskState } from "../../policy/tasks/task-trace.ts";
import { policyName } from "../../policy/policy-ref.ts";
import type { Colour } from "../terminal/colour.ts";
import { commandDetail, type CommandWords, typed } from "../terminal/printed-command.ts";
import type { Terminal } from "../terminal/terminal.ts";
import type { Branch, Detail } from "../../page/branch.ts";
import type { ExplainedPolicy, ExplainedRule, StatusComparison } from "./policy-explanation.ts";
import { openTask, taskBranch } from "./task-branch.ts";
import type { Release } from "./way-out.ts";

export interface TextOptions extends Terminal, CommandWords {
  /** Whether the instant was chosen by a flag instead of now. */
  readonly chosen: boolean;
  /** Whether a request at admission is explained. */
  readonly requested: boolean;
  /** The flags that name the same files: " -f policies/"; "": those of the API server. */
  readonly files: string;
  /** The chosen instant, as a flag takes it: windows are listed from then on. */
  readonly from?: string;
  /** Shows each policy that does not match, too. */
  readonly all?: boolean;
}

/** Policies that hold come first, and those that do not apply to the Cluster last. */
export function ranked(policies: readonly ExplainedPolicy[]): readonly ExplainedPolicy[] {
  return policies.toSorted((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ matched, holds, rules }: ExplainedPolicy): number {
  if (!matched) return 3;
  return holds ? 0 : rules.length === 0 ? 2 : 1;
}

export function policyBranch(explained: ExplainedPolicy, options: TextOptions): Branch {
  const { policy, matched, verdict, holds, overriddenBy, mismatch, release, rules, status } = explained;
  const { colour } = options;
  const name = colour.bold(policyName(policy));
  const outcome = matched ? painted(verdict, colour) : colour.dim("does not match");
  const notes = notesOf(explained, options).map((note) => `, ${note}`);
  return {
    text: `${name}: ${outcome}${notes.join("")}`,
    verdict: matched && rules.length > 0 ? verdict : "Skipped",
    details: [
      ...mismatch.map((text) => ({ label: "because", text })),
      rules.length > 1 && holds && !options.requested && { label: "released", text: byTime(release, rules) },
      status !== undefined && { label: "status", text: statusText(status, colour) },
    ],
    branches: rules.map((rule) => ruleBranch(rule, { ...options, isLifted: overriddenBy !== undefined })),
  };
}

function notesOf(
  { mode, matched, overriddenBy, rules }: ExplainedPolicy,
  { requested }: TextOptions,
): string[] {
  const audit = requested ? "mode Audit, so it only warns" : "mode Audit, so it holds nothing";
  if (requested && matched && rules.length === 0) return ["no rule about it has admission"];
  return [
    ...(mode === "Audit" && rules.length > 0 ? [audit] : []),
    ...(overriddenBy === undefined ? [] : [`overridden by HookOverride ${overriddenBy}`]),
    ...(matched && rules.length === 0 ? ["no rule on this hook"] : []),
  ];
}

function statusText({ row, differences, because }: StatusComparison, colour: Colour): string {
  if (differences.length === 0) return `says the same${row === undefined ? "" : `, since ${row.since}`}`;
  return `${colour.yellow("differs")}: ${differences.join("; ")}${because === undefined ? "" : ` (${because})`}`;
}

function ruleBranch(explained: ExplainedRule, options: TextOptions & { readonly isLifted: boolean }): Branch {
  const { isLifted, requested } = options;
  const { rule, verdict, holds, reason, condition, gates, tasks = [] } = explained;
  const { message, release, admission, deadline } = explained;
  const why = condition === undefined ? reason : `match condition ${condition} is false`;
  return {
    text: `${ruleName(rule)}: ${painted(verdict, options.colour)} (${why})${requested ? `, admission ${admission}` : ""}`,
    verdict,
    details: [
      gates.length + tasks.length === 0 && message !== "" && { label: "because", text: message },
      holds && !isLifted && { label: requested ? "passes" : "released", text: byTime(release, [explained]) },
      deadline !== undefined && { label: "deadline", text: deadlineText(deadline, explained) },
    ],
    branches: [
      ...gates.map((gate) => gateBranch(gate, options)),
      ...tasks.map((task) => taskBranch(task, options)),
    ],
  };
}

/** The rule is "" for an error of the whole spec. */
export function ruleName(rule: string): string {
  return rule === "" ? "spec" : `rule ${rule}`;
}

function deadlineText(at: Date | number, { deadlineReleases = false, reason, tasks }: ExplainedRule): string {
  const when =
    at instanceof Date
      ? timestamp(at)
      : `${durationText(at)} after the rule first held the Cluster, at a time that no status shows`;
  if (!deadlineReleases) return `${when}: the rule holds the Cluster after that, too`;
  if (tasks !== undefined) return `${when}: from then on, the rule waits for its tasks alone`;
  return `${when}: the rule ${reason === "DeadlineExpired" ? "released" : "releases"} the Cluster then`;
}

function gateBranch(gate: GateTrace, options: TextOptions): Branch {
  const { colour } = options;
  const { met, observed, remedy, withheld, said, members = [] } = gate;
  const wanted = gate.wantedInFull ?? gate.wanted;
  const marks = {
    true: colour.green("is met"),
    false: colour.red("waits"),
    undefined: colour.red("cannot be evaluated"),
  };
  const name = `gate ${gate.gate}${said === undefined ? "" : ` ${JSON.stringify(said)}`}`;
  const head = `${name}${met === true ? "" : ":"} ${marks[`${met}`]}`;
  const verdict = met === true ? "Allowed" : met === false ? "Blocked" : "NotEvaluable";
  if (members.length > 0) {
    const branches = members.map((member) => gateBranch(member, options));
    return { text: `${head} (one of ${members.length})`, verdict, branches };
  }
  if (met === true) return { text: `${head}: ${wanted}; ${observed}`, verdict };
  return {
    text: head,
    verdict,
    details: [
      { label: "wanted", text: wanted },
      { label: met === undefined ? "because" : "observed", text: observed },
      remedy !== undefined && runDetail("run", remedy, options),
      withheld !== undefined && { label: "no command", text: withheld },
    ],
  };
}

/** Whether all that holds is that the labels of the Namespace are unknown. */
export function lackNamespace(rules: readonly ExplainedRule[]): boolean {
  const held = rules.filter(({ holds }) => holds);
  return held.length > 0 && held.every(({ reason }) => reason === NAMESPACE_UNKNOWN);
}

const UNKNOWN_TIME =
  "at an unknown time: windows are not found open together, an expression looks at the clock, or no status shows when a deadline began";

export function byTime(release: Release, rules: readonly ExplainedRule[]): string {
  if (release === "Unknown") return UNKNOWN_TIME;
  if (release === undefined && lackNamespace(rules)) return "unknown without the Cluster's Namespace";
  const tasks = tasksText(rules);
  if (release === undefined) return tasks ?? "only after a user has acted";
  return tasks === undefined
    ? `at ${timestamp(release)}, if nothing else changes`
    : `${tasks}, at ${timestamp(release)} at the earliest`;
}

const NEEDS_A_PERSON: ReadonlySet<TaskState> = new Set(["Failed", "Altered", "NotEvaluable"]);

/** That rules wait for tasks which end by themselves; `undefined`: for none, or a user has to act, too. */
function tasksText(rules: readonly ExplainedRule[]): string | undefined {
  const held = rules.filter(({ holds }) => holds);
  const waits = held.map(openTask).filter((task) => task !== undefined);
  if (waits.length === 0) return undefined;
  const needsUser = held.some(({ gates }) =>
    gates.some(({ met, changesAt }) => met !== true && changesAt === undefined),
  );
  const isStuck = waits.some(({ state, hindered }) => hindered === true || NEEDS_A_PERSON.has(state));
  return needsUser || isStuck ? undefined : "when its tasks are done";
}

export function painted(verdict: Verdict | AdmissionDecision["verdict"] | "Skipped", colour: Colour): string {
  const paint: Readonly<Record<typeof verdict, (text: string) => string>> = {
    Allowed: colour.green,
    Observed: colour.green,
    WouldBlock: colour.yellow,
    Blocked: colour.red,
    NotEvaluable: colour.red,
    Skipped: colour.dim,
    Denied: colour.red,
    Warned: colour.yellow,
    Passed: colour.green,
  };
  return paint[verdict](verdict);
}

/** A Cluster in Git has no uid yet: the command asks for the one that it will have. */
function withRealUids(command: string, words: CommandWords): string {
  return command.replaceAll(UID_OF, (_, namespace: string, name: string) => {
    const get = `kubectl get clusters.cluster.x-k8s.io -n ${namespace} ${name} -o jsonpath='{.metadata.uid}'`;
    return `=$(${typed(get, words)})`;
  });
}

/** As Fleet names it. */
const UID_OF = /=uid-of-([a-z0-9-]+)\/([a-z0-9.-]+)/g;

export function runDetail(label: string, line: CommandLine, options: TextOptions): Detail {
  const { files, connection, from } = options;
  const commands = [line].flat().map((command) => withRealUids(command, options));
  if (!typed(line).startsWith("hookpolicy windows ")) return commandDetail(label, commands, options);
  const when = from === undefined ? "" : ` --at ${from}`;
  return commandDetail(label, line, { ...options, connection: `${files || connection}${when}` });
}
