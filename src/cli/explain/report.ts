/** Prints an explanation for people: first what to do, then why. */

import type { GateTrace, PolicyTrace, Verdict } from "../../policy/decision.ts";
import { timestamp } from "../../policy/instant.ts";
import { WHOLE } from "../../rollouts/rollout.ts";
import { policyName } from "../../policy/policyref.ts";
import type { Colour } from "../terminal/colour.ts";
import type {
  ExplainedOperation,
  ExplainedPolicy,
  ExplainedRule,
  Explanation,
  Release,
  Step,
} from "./explanation.ts";
import type { ExplainedRollout } from "./rollouthold.ts";
import type { StatusComparison } from "./storedstatus.ts";
import { durationText } from "../../policy/duration.ts";
import { type Branch, type Detail, detailLines, paragraphs, treeLines, wrapped } from "../terminal/tree.ts";

export interface TextOptions {
  readonly colour: Colour;
  /** Width of the terminal; absent: lines are not wrapped. */
  readonly columns?: number;
  /** The program's name as it was called, for printed commands. */
  readonly program: string;
  /** Appended to printed commands, so that they use the same cluster: " --context prod". */
  readonly connection: string;
  /** Whether the instant was chosen by a flag instead of now. */
  readonly chosen: boolean;
}

export function explanationLines(explanation: Explanation, options: TextOptions): string[] {
  const { cluster, operations, notes } = explanation;
  const name = `${cluster.namespace}/${cluster.name}`;
  const blocks = operations.map((operation) => operationLines(operation, explanation, options));
  const none = [
    `No operation of Cluster ${name} is held, and none waits for an answer.`,
    `To see what a hook would be answered: ${options.program} explain ${name} --hook BeforeClusterDelete${options.connection}`,
  ];
  const all = blocks.length === 0 ? [none] : blocks;
  const warnings = notes.flatMap((note) =>
    wrapped(`note: ${note}`, options.columns ?? Infinity, "  ").map(options.colour.yellow),
  );
  return paragraphs([warnings, ...all]);
}

function operationLines(
  operation: ExplainedOperation,
  { cluster, at }: Explanation,
  options: TextOptions,
): string[] {
  const { columns } = options;
  const name = `${cluster.namespace}/${cluster.name}`;
  const top = [
    ...stepDetails(operation, options),
    ...rolloutDetails(operation),
    ...waits(operation),
    ...outlook(operation, name, options),
    ...lifted(operation),
  ];
  const trees = ranked(operation.policies).map((policy) => treeLines(policyBranch(policy, options), columns));
  return [
    ...wrapped(headline(operation, `Cluster ${name}`, { ...options, at }), columns ?? Infinity, "  "),
    ...detailLines(top, (columns ?? Infinity) - 2).map((line) => `  ${line}`),
    "",
    ...(trees.length === 0 ? ["There is no policy that could be about the Cluster."] : trees.flat()),
    ...operation.rollouts.flatMap((rollout) => treeLines(rolloutBranch(rollout, options), columns)),
  ];
}

function rolloutDetails({ rollouts }: ExplainedOperation): Detail[] {
  return rollouts.filter(({ holds }) => holds).map(({ message }) => ({ label: "because", text: message }));
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
    details: because.map((text) => ({ label: "because", text })),
    branches: [],
  };
}

function headline(
  { verdict, hook, targetVersion, firstAsked, passed }: ExplainedOperation,
  cluster: string,
  { colour, at, chosen }: TextOptions & { readonly at: Date },
): string {
  const version = targetVersion === undefined ? "" : ` (${targetVersion})`;
  const asked =
    firstAsked === undefined
      ? passed
        ? ", which has passed it already"
        : ", which Cluster API does not ask about now"
      : `, asked since ${timestamp(firstAsked)}`;
  const when = chosen ? `, at ${timestamp(at)}` : "";
  return `${painted(verdict, colour)}: ${hook}${version} of ${cluster}${asked}${when}`;
}

function painted(verdict: Verdict | "Skipped", colour: Colour): string {
  const paint: Readonly<Record<typeof verdict, (text: string) => string>> = {
    Allowed: colour.green,
    Observed: colour.green,
    WouldBlock: colour.yellow,
    Blocked: colour.red,
    NotEvaluable: colour.red,
    Skipped: colour.dim,
  };
  return paint[verdict](verdict);
}

function stepDetails({ steps }: ExplainedOperation, options: TextOptions): Detail[] {
  return steps.flatMap((step, index) => {
    const next = steps[index + 1];
    const isLast = next?.rule !== step.rule || policyName(next.policy) !== policyName(step.policy);
    return [...deedOf(step, index === 0 ? "" : "and ", options), ...(isLast ? said(step) : [])];
  });
}

function deedOf(step: Step, and: string, options: TextOptions): Detail[] {
  const [first, ...others] = step.commands;
  const place = `${policyName(step.policy)}, ${ruleName(step.rule)}${step.gate === undefined ? "" : `, gate ${step.gate}`}`;
  const what = {
    label: first === undefined ? `${and}${step.evaluable ? "wait for" : "because"}` : "for",
    text: `${step.wanted} (${place})`,
  };
  if (first === undefined) return [what];
  return [
    { label: `${and}run`, text: commandText(first, options), whole: true },
    ...others.map((command) => ({ label: "or run", text: commandText(command, options), whole: true })),
    what,
  ];
}

/** The waits that start only after all these steps. */
function waits({ policies }: ExplainedOperation): Detail[] {
  return policies
    .filter(({ trace }) => trace.holds)
    .flatMap(({ trace: { policy, rules } }) =>
      rules
        .filter(({ holds }) => holds)
        .flatMap(({ rule, gates }) =>
          gates
            .filter(({ reason }) => reason === "WaitNotStarted")
            .map(({ gate, wanted }) => ({
              label: "then wait",
              text: `${wanted} (${policyName(policy)}, ${ruleName(rule)}, gate ${gate})`,
            })),
        ),
    );
}

function lifted({ policies }: ExplainedOperation): Detail[] {
  return policies.flatMap(({ trace: { overriddenBy, policy }, liftedUntil }) =>
    overriddenBy === undefined || liftedUntil === undefined
      ? []
      : [
          {
            label: "lifted",
            text: `${policyName(policy)} until ${timestamp(liftedUntil)}, by HookOverride ${overriddenBy}`,
          },
        ],
  );
}

function commandText(command: string, { colour, connection }: TextOptions): string {
  return colour.cyan(`${command}${connection}`);
}

/** The author's messages, once per rule. */
function said({ message }: Step): Detail[] {
  return message === undefined ? [] : [{ label: "note", text: message }];
}

function outlook(
  { verdict, holds, release, firstAsked, hook, retryAfterSeconds, policies, rollouts }: ExplainedOperation,
  name: string,
  { program, connection }: TextOptions,
): Detail[] {
  if (holds === undefined) {
    return [{ label: "but", text: "policies that you may not read can hold it: see the note above" }];
  }
  if (!holds) {
    const within = firstAsked === undefined ? undefined : longestRetry(policies);
    return [{ label: "proceeds", text: proceeds(verdict, firstAsked !== undefined, within) }];
  }
  const command = overrideCommand(name, hook, { program, connection });
  const retry = `; Cluster API asks again after ${retryAfterSeconds} s`;
  return [
    {
      label: "released",
      text: `${
        rollouts.some((each) => each.holds)
          ? "when every rollout has given it a slot"
          : byTime(
              release,
              policies.filter(({ trace }) => trace.holds).flatMap(({ rules }) => rules),
            )
      }${firstAsked === undefined ? "" : retry}`,
    },
    { label: "override", text: command, whole: true },
  ];
}

export function overrideCommand(
  name: string,
  hook: string,
  { program, connection }: Pick<TextOptions, "program" | "connection">,
): string {
  return `${program} override ${name} --hook ${hook} --for 1h --reason 'why'${connection}`;
}

/** Cluster API asks again after what the last answer that held said, which one of the rules had said. */
function longestRetry(policies: readonly ExplainedPolicy[]): number | undefined {
  const retries = policies
    .filter(({ trace }) => trace.matched && trace.mode === "Enforce")
    .flatMap(({ trace }) => trace.rules.filter(({ gates }) => gates.length > 0))
    .map(({ retryAfterSeconds }) => retryAfterSeconds);
  return retries.length === 0 ? undefined : Math.max(...retries);
}

function proceeds(verdict: Verdict, isAsked: boolean, within: number | undefined): string {
  const soon = within === undefined ? "" : `, within ${within} s`;
  const when = isAsked ? `when Cluster API asks again${soon}` : "when Cluster API asks";
  return verdict === "WouldBlock" ? `${when}: only policies of mode Audit would hold it` : when;
}

function byTime(release: Release, rules: readonly ExplainedRule[]): string {
  if (release === "Unknown") {
    const isCounted = rules.some(
      ({ trace, isSinceKnown }) => trace.holds && trace.deadlineReleases === true && !isSinceKnown,
    );
    return `at an unknown time: ${isCounted ? "no status shows when the deadline began" : "an expression looks at the clock, or the next opening of a window is not known"}`;
  }
  return release === undefined
    ? "only after a user has acted"
    : `at ${timestamp(release)}, if nothing else changes`;
}

/** Policies that hold come first, and those that do not apply to the Cluster last. */
function ranked(policies: readonly ExplainedPolicy[]): readonly ExplainedPolicy[] {
  return policies.toSorted((a, b) => rankOf(a) - rankOf(b));
}

function rankOf({ trace }: ExplainedPolicy): number {
  if (!trace.matched) return 3;
  return trace.holds ? 0 : trace.rules.length === 0 ? 2 : 1;
}

function policyBranch(
  { trace, mismatch, release, rules, otherRules, status }: ExplainedPolicy,
  options: TextOptions,
): Branch {
  const { colour } = options;
  const name = colour.bold(policyName(trace.policy));
  const outcome = trace.matched ? painted(trace.verdict, colour) : colour.dim("does not match");
  const notes = notesOf(trace, otherRules.length).map((note) => `, ${note}`);
  return {
    text: `${name}: ${outcome}${notes.join("")}`,
    details: [
      ...mismatch.map((text) => ({ label: "because", text })),
      ...(rules.length > 1 && trace.holds ? [{ label: "released", text: byTime(release, rules) }] : []),
      ...statusDetails(status, colour),
    ],
    branches: rules.map((rule) =>
      ruleBranch(rule, { ...options, isLifted: trace.overriddenBy !== undefined }),
    ),
  };
}

function notesOf({ mode, matched, overriddenBy, rules }: PolicyTrace, others: number): string[] {
  return [
    ...(mode === "Audit" && rules.length > 0 ? ["mode Audit, so it holds nothing"] : []),
    ...(overriddenBy === undefined ? [] : [`overridden by HookOverride ${overriddenBy}`]),
    ...(matched && rules.length === 0
      ? [others === 1 ? "its rule is on other hooks" : "no rule on this hook"]
      : []),
  ];
}

function statusDetails(status: StatusComparison | undefined, colour: Colour): Detail[] {
  if (status === undefined) return [];
  const { row, differences, because } = status;
  if (differences.length === 0) {
    return [{ label: "status", text: `says the same${row === undefined ? "" : `, since ${row.since}`}` }];
  }
  const text = `${differences.join("; ")}${because === undefined ? "" : ` (${because})`}`;
  return [{ label: "status", text: `${colour.yellow("differs")}: ${text}` }];
}

function ruleBranch(explained: ExplainedRule, options: TextOptions & { readonly isLifted: boolean }): Branch {
  const { isLifted } = options;
  const { trace, release, isSinceKnown, deadlineMs = 0 } = explained;
  const { rule, verdict, reason, condition, gates, message, deadlineAt, deadlineReleases } = trace;
  const why = condition === undefined ? reason : `match condition ${condition} is false`;
  const details: Detail[] = [
    ...(gates.length === 0 && message !== "" ? [{ label: "because", text: message }] : []),
    ...(trace.holds && !isLifted ? [{ label: "released", text: byTime(release, [explained]) }] : []),
    ...(deadlineAt === undefined
      ? []
      : [deadline(isSinceKnown ? deadlineAt : deadlineMs, deadlineReleases === true)]),
  ];
  return {
    text: `${ruleName(rule)}: ${painted(verdict, options.colour)} (${why})`,
    details,
    branches: gates.map((gate) => gateBranch(gate, options)),
  };
}

/** An error of the whole spec has no rule. */
function ruleName(rule: string): string {
  return rule === "" ? "spec" : `rule ${rule}`;
}

/** `at`: the instant; or how long after the first block it is, if that is not known. */
function deadline(at: Date | number, releases: boolean): Detail {
  const when =
    at instanceof Date
      ? timestamp(at)
      : `${durationText(at)} after the rule first held the Cluster, at a time that no status shows`;
  const then = releases ? "the rule releases the Cluster then" : "the rule holds the Cluster after that, too";
  return { label: "deadline", text: `${when}: ${then}` };
}

function gateBranch(gate: GateTrace, options: TextOptions): Branch {
  const { colour } = options;
  const { holds, observed, remedy, members = [] } = gate;
  const wanted = gate.wantedInFull ?? gate.wanted;
  const marks = {
    true: colour.green("holds"),
    false: colour.red("waits"),
    undefined: colour.red("cannot be evaluated"),
  };
  const head = `gate ${gate.gate}: ${marks[`${holds}`]}`;
  if (members.length > 0) {
    const branches = members.map((member) => gateBranch(member, options));
    return { text: `${head} (one of ${members.length})`, branches };
  }
  if (holds === true) return { text: `${head}: ${wanted}; ${observed}` };
  return {
    text: head,
    details: [
      { label: "wanted", text: wanted },
      { label: holds === undefined ? "because" : "observed", text: observed },
      ...(remedy === undefined ? [] : [{ label: "run", text: commandText(remedy, options), whole: true }]),
    ],
  };
}
