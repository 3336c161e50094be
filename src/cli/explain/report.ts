/** Prints an explanation as text: first what to do, then why. */

import { namespacedName } from "../../lib/keys.ts";
import type { AdmissionDecision } from "../../policy/admission.ts";
import { heldRules } from "../../policy/decision.ts";
import { timestamp } from "../../lib/instant.ts";
import { WHOLE } from "../../rollouts/rollout.ts";
import { policyName } from "../../policy/policy-ref.ts";
import { TOO_LARGE } from "../../views/too-large.ts";
import type { DrawnExplanation, DrawnOperation } from "../../page/wire.ts";
import type { TearDown } from "../fleet/teardown.ts";
import { PLAIN } from "../terminal/colour.ts";
import {
  type Advice,
  advice,
  adviceDetail,
  adviceText,
  adviceWords,
  type CommandWords,
  typed,
} from "../terminal/printed-command.ts";
import type { ExplainedOperation, Explanation } from "./explanation.ts";
import type { ExplainedPolicy, ExplainedRule } from "./policy-explanation.ts";
import {
  byTime,
  lackNamespace,
  painted,
  policyBranch,
  ranked,
  ruleName,
  runDetail,
  type TextOptions,
} from "./policy-tree.ts";
import type { Step } from "./way-out.ts";
import type { ExplainedRollout } from "../fleet/rollout-hold.ts";
import type { Branch, Detail } from "../../page/branch.ts";
import { indented, paragraphs, treeLines, wrapped } from "../terminal/tree.ts";

interface View extends TextOptions, Pick<Explanation, "callsFail" | "resume"> {
  /** NAMESPACE/NAME of the Cluster. */
  readonly name: string;
  readonly at: Date;
}

export function explanationLines(explanation: Explanation, options: TextOptions): string[] {
  const { operations, notes, tornDown, ownHold } = explanation;
  const view = viewOf(explanation, options);
  const { name } = view;
  const blocks = operations.map((operation) => operationLines(operation, view));
  const none = [
    `No operation of Cluster ${name} is held, and none waits for an answer.`,
    `To see what a hook would be answered: ${options.program} explain ${name} --hook BeforeClusterDelete${options.files || options.connection}`,
  ];
  const isFree = waitsForNothing(explanation) && !options.requested;
  const lines = (told: Advice): string[] => wrapped(adviceWords(told, options), options.columns, "  ");
  const held = ownHold === undefined ? [] : lines(advice`Blocked: ${ownHold}`);
  const warnings = notes.flatMap((note) => lines(advice`note: ${note}`).map(options.colour.yellow));
  return paragraphs([alarmLines(tornDown, options), held, warnings, ...(isFree ? [none] : blocks)]);
}

function waitsForNothing({ operations, ownHold }: Explanation): boolean {
  return operations.length === 0 && ownHold === undefined;
}

function viewOf({ cluster, at, callsFail, resume }: Explanation, options: TextOptions): View {
  const name = namespacedName(cluster);
  return { ...options, name, at, callsFail, resume, ...(options.chosen && { from: timestamp(at) }) };
}

function alarmLines(tornDown: Explanation["tornDown"], options: TextOptions): string[] {
  if (tornDown === undefined) return [];
  const { columns, colour } = options;
  const { text, details } = alarmOf(tornDown, options);
  return [...wrapped(text, columns, "  ").map(colour.red), ...indented(details, columns)];
}

function alarmOf(
  { message, steps }: TearDown,
  options: TextOptions,
): Required<Pick<Branch, "text" | "details">> {
  const details = steps.flatMap(({ command, wanted }): Detail[] => [
    runDetail("run", command, options),
    adviceDetail("so that", wanted, options),
  ]);
  return { text: `ALARM: ${message}`, details };
}

function operationLines(operation: ExplainedOperation, view: View): string[] {
  const { columns, colour } = view;
  const [policies, unmatched] = toShow(ranked(operation.policies), view);
  const { details, branches, override } = drawn({ ...operation, policies }, view);
  const isEmpty = policies.length + unmatched.length === 0;
  return [
    ...wrapped(headline(operation, view), columns, "  "),
    ...indented(details, columns),
    ...(override === undefined ? [] : [`  if it cannot wait: ${colour.cyan(override)}`]),
    "",
    ...(isEmpty ? ["There is no policy that could be about the Cluster."] : []),
    ...branches.slice(0, policies.length).flatMap((branch) => treeLines(branch, columns)),
    ...unmatched,
    ...branches.slice(policies.length).flatMap((branch) => treeLines(branch, columns)),
  ];
}

/** What to do first, then why: the policies, and then the rollouts. */
function drawn(
  operation: ExplainedOperation,
  view: View,
): Omit<DrawnOperation, "hook" | "verdict" | "subject"> {
  return {
    details: [
      ...stepDetails(operation, view),
      ...rolloutDetails(operation),
      ...waits(operation),
      ...resumption(operation, view),
      outlook(operation, view),
      ...admissionDetail(operation, view),
      ...lifted(operation),
    ],
    override: breakGlass(operation, view),
    branches: [
      ...operation.policies.map((policy) => policyBranch(policy, view)),
      ...operation.rollouts.map((rollout) => rolloutBranch(rollout, view)),
    ],
  };
}

/** The same for the page, which draws it with colours of its own. */
export function drawnExplanation(
  explanation: Explanation,
  words: CommandWords,
  chosen: boolean,
): DrawnExplanation {
  const { tornDown, ownHold, notes, operations } = explanation;
  const options = { ...words, colour: PLAIN, chosen, requested: false, files: "" };
  const view = viewOf(explanation, options);
  return {
    alarm: tornDown && alarmOf(tornDown, options),
    notes: [...(ownHold === undefined ? [] : [ownHold]), ...notes].map((note) => adviceText(note, words)),
    waitsForNothing: waitsForNothing(explanation),
    operations: operations.map((operation) => ({
      hook: operation.hook,
      verdict: operation.verdict,
      subject: subjectOf(operation, { ...view, chosen: false }), // the page shows the time beside it
      ...drawn({ ...operation, policies: ranked(operation.policies) }, view),
    })),
  };
}

/** Other teams' policies would hide the ones that hold; a single one is worth its reason. */
function toShow(
  policies: readonly ExplainedPolicy[],
  { all = false, colour }: View,
): readonly [shown: readonly ExplainedPolicy[], unmatched: readonly string[]] {
  const matched = policies.filter((policy) => policy.matched);
  const count = policies.length - matched.length;
  if (all || count < 2) return [policies, []];
  return [matched, [colour.dim(`${count} policies do not match the Cluster: explain --all shows why`)]];
}

function admissionDetail(
  { request, admission, hook, targetVersion }: ExplainedOperation,
  { name, program, connection, files }: View,
): Detail[] {
  if (request !== undefined || admission === undefined) return [];
  const words =
    hook === "BeforeClusterDelete" ? "Delete" : `Upgrade --to-version ${targetVersion ?? "VERSION"}`;
  const command = `${program} explain ${name} --admission ${words}${files || connection}`;
  return [{ label: "admission", text: `${ANSWERS[admission]}: ${command}` }];
}

const ANSWERS: Readonly<Record<AdmissionDecision["verdict"], string>> = {
  Denied: "refuses the request",
  Warned: "warns of the request",
  Passed: "passes the request",
};

/** What holds it once every policy has released it. */
function rolloutDetails({ next, policies }: ExplainedOperation): Detail[] {
  const label = policies.some(({ holds }) => holds) ? "then" : "because";
  return next.flatMap(({ message, reason, because }) => [
    { label, text: message },
    ...(reason === "Paused" ? because : []).map((text) => ({ label: "", text })),
  ]);
}

function rolloutBranch(
  { rollout, mode, holds, reason, stage, because, message }: ExplainedRollout,
  { colour }: TextOptions,
): Branch {
  const verdict = holds ? "Blocked" : message === "" ? "Allowed" : "WouldBlock";
  const place = stage === undefined || stage === WHOLE ? "" : `, stage ${stage}`;
  const audit = mode === "Audit" ? ", mode Audit, so it holds nothing" : "";
  return {
    text: `${colour.bold(`HookRollout ${rollout}`)}${place}: ${painted(verdict, colour)} (${reason})${audit}`,
    verdict,
    details: because.map((text) => ({ label: "because", text })),
  };
}

function headline(operation: ExplainedOperation, view: View): string {
  const { verdict, request, admission } = operation;
  const subject = subjectOf(operation, view);
  if (request === undefined) return `${painted(verdict, view.colour)}: ${subject}`;
  return `${painted(admission ?? verdict, view.colour)} at admission: ${subject}`;
}

function subjectOf(
  { hook, targetVersion, firstAsked, passed, request }: ExplainedOperation,
  { name, at, chosen }: View,
): string {
  const version = targetVersion === undefined ? "" : ` (${targetVersion})`;
  const when = chosen ? `, at ${timestamp(at)}` : "";
  if (request !== undefined) return `${request} of Cluster ${name}${version}${when}`;
  const unasked = passed ? ", which has passed it already" : ", which Cluster API does not ask about now";
  const asked = firstAsked === undefined ? unasked : `, asked since ${timestamp(firstAsked)}`;
  return `${hook}${version} of Cluster ${name}${asked}${when}`;
}

function stepDetails({ steps }: ExplainedOperation, options: TextOptions): Detail[] {
  return steps.flatMap((step, index) => {
    const before = steps[index - 1];
    const isFirst = before?.rule !== step.rule || policyName(before.policy) !== policyName(step.policy);
    const told = new Set(steps.slice(0, index).flatMap(typedOf));
    return [
      // Of the rule's author, once for each rule.
      ...(isFirst && step.message !== undefined ? [{ label: "note", text: step.message }] : []),
      // One command meets several gates.
      ...(typedOf(step).some((command) => told.has(command))
        ? [{ label: "and for", text: aimOf(step) }]
        : deedOf(step, index === 0 ? "" : "and ", options)),
    ];
  });
}

function typedOf({ commands }: Step): readonly string[] {
  return commands.map((command) => typed(command));
}

function aimOf(step: Step): string {
  return `${step.wanted} (${policyName(step.policy)}, ${ruleName(step.rule)}${partOf(step)})`;
}

function deedOf(step: Step, and: string, options: TextOptions): Detail[] {
  const [first, ...others] = step.commands;
  const look = step.look.map((command) => runDetail("see", command, options));
  if (first === undefined)
    return [{ label: `${and}${step.evaluable ? "wait for" : "because"}`, text: aimOf(step) }, ...look];
  return [
    runDetail(`${and}run`, first, options),
    ...others.map((command) => runDetail("or run", command, options)),
    { label: "for", text: aimOf(step) },
    ...look,
  ];
}

function partOf({ gate, task }: Step): string {
  if (task !== undefined) return `, task ${task}`;
  return gate === undefined ? "" : `, gate ${gate}`;
}

/** The waits that start only after all these steps. */
function waits({ policies }: ExplainedOperation): Detail[] {
  return heldRules(policies).flatMap(({ policy, rule: { rule, gates } }) =>
    gates
      .filter(({ reason }) => reason === "WaitNotStarted")
      .map(({ gate, wanted }) => ({
        label: "then wait",
        text: `${wanted} (${policyName(policy)}, ${ruleName(rule)}, gate ${gate})`,
      })),
  );
}

function lifted({ policies }: ExplainedOperation): Detail[] {
  return policies.flatMap(({ overriddenBy, policy, liftedUntil }) => {
    if (liftedUntil === undefined) return [];
    const text = `${policyName(policy)} until ${timestamp(liftedUntil)}, by HookOverride ${overriddenBy}`;
    return [{ label: "lifted", text }];
  });
}

function resumption({ steps, firstAsked }: ExplainedOperation, view: View): Detail[] {
  if (view.resume === undefined || firstAsked === undefined) return [];
  const label = steps.length > 0 ? "and run" : "run";
  return [
    runDetail(label, view.resume, view),
    { label: "for", text: "the end of the pause, in which Cluster API calls no hook" },
  ];
}

function outlook(operation: ExplainedOperation, view: View): Detail {
  const { callsFail, resume } = view;
  const { verdict, holds, firstAsked, retryAfterSeconds, policies, request } = operation;
  const isAsked = firstAsked !== undefined;
  const after = callsFail ? "; after failures it waits longer each time" : undefined;
  const later = resume === undefined ? after : ", once the Cluster is resumed";
  if (holds === undefined)
    return { label: "but", text: "policies that you may not read can hold it: see the note above" };
  if (request !== undefined) return atAdmission(operation);
  if (holds) {
    const retry = isAsked ? `; Cluster API asks again${later ?? ` after ${retryAfterSeconds} s`}` : "";
    return adviceDetail("released", advice`${releasedBy(operation)}${retry}`, view);
  }
  const when = isAsked ? ` again${later ?? longestRetry(policies)}` : "";
  const audit = verdict === "WouldBlock" ? ": only policies of mode Audit would hold it" : "";
  return { label: "proceeds", text: `when Cluster API asks${when}${audit}` };
}

/** "by policies: at …; then by HookRollout upgrades: when …" */
function releasedBy({ byPolicies, policies, next }: ExplainedOperation): Advice {
  const held = rulesOfHolders(policies);
  const time = byTime(byPolicies, held);
  if (next.length === 0) return time;
  const [only, ...others] = next;
  if (held.length === 0 && others.length === 0) return only?.released ?? "";
  const rollouts = next.map(({ rollout, released = "" }) => advice`by HookRollout ${rollout}: ${released}`);
  return [...(held.length > 0 ? [`by policies: ${time}`] : []), ...rollouts].reduce(
    (before, then) => advice`${before}; then ${then}`,
  );
}

/** What other policies wait for, such as those of mode Audit, releases nothing. */
function rulesOfHolders(policies: readonly ExplainedPolicy[]): readonly ExplainedRule[] {
  return policies.filter(({ holds }) => holds).flatMap(({ rules }) => rules);
}

/** Clients do not repeat a refused request. */
function atAdmission({ admission, release, policies }: ExplainedOperation): Detail {
  if (admission === "Passed") return { label: "passes", text: "now" };
  if (admission === "Warned") return { label: "passes", text: "with a warning" };
  return { label: "passes", text: byTime(release, rulesOfHolders(policies)) };
}

/** Last, because it is for emergencies. An override names the uid, which a Cluster gets when it is created. */
function breakGlass(operation: ExplainedOperation, view: View): string | undefined {
  const { holds, request, policies } = operation;
  if (holds !== true || request === "Create") return undefined;
  // In files. The operator has the Namespace, so the same policies may hold nothing there.
  if (view.files !== "" && lackNamespace(rulesOfHolders(policies))) return undefined;
  return overrideCommand(view.name, operation, view);
}

/** Lifts no more than what holds the operation. */
function overrideCommand(
  name: string,
  { hook, policies, rollouts, next }: Pick<ExplainedOperation, "hook" | "policies" | "rollouts" | "next">,
  { program, connection }: CommandWords,
): string {
  const holders = [
    ...policies.filter(({ holds }) => holds).map(({ policy }) => `${policy.kind}/${policy.name}`),
    ...new Set(
      [...rollouts, ...next].filter(({ holds }) => holds).map(({ rollout }) => `HookRollout/${rollout}`),
    ),
  ];
  const words = isNameable(policies) ? holders.map((holder) => ` --policy ${holder}`) : [];
  return `${program} override ${name} --hook ${hook}${words.join("")} --for 1h --reason 'why'${connection}`;
}

/** No override that names policies lifts one that is too large for memory. */
function isNameable(policies: readonly ExplainedPolicy[]): boolean {
  return !policies.some(({ rules }) => rules.some(({ holds, reason }) => holds && reason === TOO_LARGE));
}

/** ", within 60 s": Cluster API asks again after the retryAfterSeconds of the last answer, which came from one of the rules. */
function longestRetry(policies: readonly ExplainedPolicy[]): string {
  const retries = policies
    .filter(({ matched, mode }) => matched && mode === "Enforce")
    .flatMap(({ rules }) => rules.filter(({ gates }) => gates.length > 0))
    .map(({ retryAfterSeconds }) => retryAfterSeconds);
  return retries.length === 0 ? "" : `, within ${Math.max(...retries)} s`;
}
