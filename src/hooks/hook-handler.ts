/**
 * Answers hook calls, from bytes to bytes, in the order of the functions below: repeat, decode, decide, confirm, encode.
 * Whatever fails, the Cluster is held.
 */

import type { Cluster } from "../api/meta.ts";
import type { HookName } from "../api/runtime-hooks.ts";
import type { Logger } from "../lib/logger.ts";
import type { Decisions } from "../decisions/decisions.ts";
import type { Decision } from "../policy/decision.ts";
import { mayLackTasks } from "../policy/tasks/after-initialized.ts";
import { readTimestamp } from "../lib/instant.ts";
import { clusterKey } from "../views/cluster.ts";
import { encodeResponse, failureResponse } from "../extension/codec.ts";
import type { WholeBody } from "../server/bodies.ts";
import type { ClusterCall } from "../policy/world.ts";
import { decodeRequest, type ReceivedRequest, seenSubject, type Subject } from "./hook-request.ts";
import {
  type AnswerVerdict,
  decided,
  LastAnswers,
  notStored,
  observed,
  type Outcome,
  undecided,
  type Undecided,
} from "./hook-answer.ts";

/** Decides about calls. */
export type DecisionSource = Pick<
  Decisions,
  "loaded" | "known" | "mayHaveTasks" | "inTurn" | "ask" | "validity" | "confirm" | "storeTasks"
>;

export interface HookMetrics {
  answered(hook: HookName, verdict: AnswerVerdict, seconds: number): void;
  unconfirmed(reason: string): void;
  discovered(): void;
}

export interface AnswerRecorder {
  record(request: ClusterCall, outcome: Outcome, now: Date): void;
  /** The last recorded answer about the Cluster and hook was given again. */
  repeat(hook: HookName, clusterUID: string, now: Date): void;
  /** The Cluster is deleted. */
  forget(clusterUID: string): void;
}

export interface HandlerDeps {
  readonly source: DecisionSource;
  readonly metrics: HookMetrics;
  readonly answers: AnswerRecorder;
  readonly log: Logger;
  /** For warnings that any caller can cause: logged now and then, however often they happen. */
  readonly warnRateLimited: Logger["warn"];
  readonly now: () => Date;
}

export interface HookHandler {
  /** The last answer about the Cluster that the body names, if it holds, is still valid, and depends on nothing else in a body. */
  readonly repeat: (body: WholeBody) => string | undefined;
  /** The JSON text of the answer. */
  readonly handle: (body: WholeBody) => string | Promise<string>;
  /** The answer to a call at which `handle` has failed, which is a bug. */
  readonly failed: () => string;
  /** The Cluster is deleted. */
  readonly forget: (clusterUID: string) => void;
}

/** `waits`: Cluster API waits for this hook; where it does not, the answer is Success, or a Failure so that it calls again. */
export function createHandler(name: HookName, waits: boolean, deps: HandlerDeps): HookHandler {
  const hook: Hook = { ...deps, name, waits, started: deps.now(), lastAnswers: new LastAnswers() };
  return {
    repeat: (body) => repeat(hook, body),
    handle: (body) => handle(hook, body),
    failed: () => encodeResponse(name, withoutDecision(hook, "InternalError").answer, waits),
    forget: (clusterUID) => hook.lastAnswers.forget(clusterUID),
  };
}

/** How long Cluster API may be made to call again, from when the control plane is initialized or this replica starts. */
const INITIALIZED_MS = 10 * 60_000;
const INITIALIZED = "ControlPlaneInitialized";

interface Hook extends HandlerDeps {
  readonly name: HookName;
  readonly started: Date;
  readonly waits: boolean;
  readonly lastAnswers: LastAnswers;
}

/** A call that is being answered. */
interface Call extends ReceivedRequest {
  readonly started: number;
}

function repeat(hook: Hook, body: WholeBody): string | undefined {
  const started = performance.now();
  const seen = seenSubject(hook.name, body);
  return seen && repeatLast(hook, seen, started);
}

/** The last answer about the subject, while its decision is valid. */
function repeatLast(hook: Hook, subject: Subject, started: number): string | undefined {
  const now = hook.now();
  const found = hook.lastAnswers.current(subject, now);
  if (found === undefined) return undefined;
  hook.metrics.answered(hook.name, found.verdict, secondsSince(started));
  hook.answers.repeat(hook.name, subject.clusterUID, now);
  return found.text;
}

function handle(hook: Hook, body: WholeBody): string | Promise<string> {
  const started = performance.now();
  const received = decode(hook, body, started);
  if (received === undefined) return failureResponse(hook.name, "undecodable", hook.waits);
  const call: Call = { started, ...received };
  try {
    const text = hook.source.inTurn(
      call.request,
      () => answer(hook, call),
      () => refuse(hook, call),
    );
    return text instanceof Promise ? text.catch((error: unknown) => fail(hook, call, error)) : text;
  } catch (error) {
    return fail(hook, call, error);
  }
}

function decode(hook: Hook, body: WholeBody, started: number): ReceivedRequest | undefined {
  const text = body.text();
  const received = text === undefined ? undefined : decodeRequest(hook.name, text);
  if (received !== undefined) return received;
  hook.warnRateLimited("Refusing a request that cannot be decoded", { hook: hook.name, bytes: body.size });
  hook.metrics.answered(hook.name, "Undecodable", secondsSince(started));
  return undefined;
}

/** Answers the call when it has its turn. The same call may have been decided while this one waited. */
function answer(hook: Hook, call: Call): string | Promise<string> {
  const repeated = repeatLast(hook, call.subject, call.started);
  if (repeated !== undefined) return repeated;
  const outcome = decide(hook, call.request);
  if (outcome instanceof Promise) return outcome.then((confirmed) => encode(hook, call, confirmed));
  return encode(hook, call, outcome);
}

function decide(hook: Hook, request: ClusterCall): Outcome | Promise<Outcome> {
  const { source, waits } = hook;
  const at = hook.now();
  if (!source.loaded()) return withoutDecision(hook, "NotLoaded", request);
  const decision = source.ask(request, at);
  if (!waits) return needsTasks(decision) ? storeTasks(hook, request, decision) : observed(decision);
  // A decision about an invented Cluster would reveal whether the objects that gates look at exist.
  if (!decision.holds || decision.tasksDue === true || decision.basis?.fromRequest === true)
    return confirm(hook, request, decision);
  return { ...decided(decision), isValid: source.validity(request, decision, at) };
}

function withoutDecision(hook: Hook, why: Undecided, request?: ClusterCall): Outcome {
  return mayLoseTasks(hook, request) ? notStored(why) : undecided(why, hook.waits);
}

/**
 * Whether tasks may be lost unless Cluster API makes this call again, as no other call stores them. It does so only after a
 * Failure, which stops everything about the Cluster, so it must not last.
 */
function mayLoseTasks(hook: Hook, request: ClusterCall | undefined): boolean {
  const { name, started, source } = hook;
  if (name !== "AfterControlPlaneInitialized") return false;
  const now = hook.now();
  const hasJustStarted = +now - +started < INITIALIZED_MS;
  const isYoung =
    request !== undefined && source.loaded() && !isInitializedLong(source.known(request.cluster), now);
  return (hasJustStarted || isYoung) && source.mayHaveTasks();
}

async function storeTasks(hook: Hook, request: ClusterCall, decision: Decision): Promise<Outcome> {
  if (await hook.source.storeTasks(request)) return observed(decision);
  hook.metrics.unconfirmed("TasksNotStored");
  const callsAgain = mayLoseTasks(hook, request);
  hook.log.warn("Failed to store the tasks of a Cluster", {
    hook: hook.name,
    cluster: clusterKey(request.cluster),
    ...(!callsAgain && {
      consequence: "they never begin, because its control plane was initialized too long ago",
    }),
  });
  return callsAgain ? notStored("NotConfirmed") : observed(decision);
}

/** A release, or any answer about a Cluster that is not in memory, needs a fresh read. */
async function confirm(hook: Hook, request: ClusterCall, before: Decision): Promise<Outcome> {
  const confirmation = await hook.source.confirm(request);
  if (!confirmation.ok) return unconfirmed(hook, request, confirmation.reason);
  const { decision } = confirmation;
  // Memory may be behind with what tasks have done, and does not know of those that can never be stored.
  const isTasksAlone = before.tasksDue === true && before.basis?.fromRequest !== true;
  if (decision.holds || !before.holds || isTasksAlone) return decided(decision);
  return unconfirmed(hook, request, "HeldAsRequested");
}

/** The reason is for the log and the metric; the caller gets the same text for every reason. */
function unconfirmed(hook: Hook, request: ClusterCall, reason: string): Outcome {
  hook.metrics.unconfirmed(reason);
  const cluster = clusterKey(request.cluster);
  hook.log.warn("Holding a Cluster because a release could not be confirmed", {
    hook: hook.name,
    cluster,
    reason,
  });
  return undecided("NotConfirmed", true);
}

/** Records the answer, and keeps it for repeated calls while its decision is valid. */
function encode(hook: Hook, { started, subject, request }: Call, outcome: Outcome): string {
  const { verdict, isValid } = outcome;
  hook.metrics.answered(hook.name, verdict, secondsSince(started));
  hook.answers.record(request, outcome, hook.now());
  const text = encodeResponse(hook.name, outcome.answer, hook.waits);
  if (isValid === undefined) hook.lastAnswers.forget(subject.clusterUID);
  else hook.lastAnswers.keep({ subject, verdict, text, isValid });
  return text;
}

/** Too many calls about the Cluster wait. Its last answer stays recorded, and is still repeated. */
function refuse(hook: Hook, { started, request }: Call): string {
  hook.metrics.answered(hook.name, "NotConfirmed", secondsSince(started));
  hook.metrics.unconfirmed("TooManyCalls");
  hook.warnRateLimited("Refusing a call because too many about the Cluster wait", {
    hook: hook.name,
    cluster: clusterKey(request.cluster),
  });
  return encodeResponse(hook.name, withoutDecision(hook, "TooManyCalls", request).answer, hook.waits);
}

function fail(hook: Hook, call: Call, error: unknown): string {
  hook.log.error("Failed to decide", { hook: hook.name, error });
  return encode(hook, call, withoutDecision(hook, "InternalError", call.request));
}

/** Whether a policy that matches has a task that is not stored, or may have one. */
function needsTasks(decision: Decision): boolean {
  const isUnstored = decision.trace.some(
    ({ mode, rules }) =>
      mode === "Enforce" &&
      rules.some(({ tasks = [] }) =>
        tasks.some(({ hookTask, state }) => hookTask === undefined && state !== "NotNeeded"),
      ),
  );
  return isUnstored || mayLackTasks(decision);
}

function isInitializedLong(cluster: Cluster | undefined, now: Date): boolean {
  const conditions = cluster?.status?.conditions ?? [];
  const { status, lastTransitionTime } = conditions.find(({ type }) => type === INITIALIZED) ?? {};
  const since = readTimestamp(lastTransitionTime);
  return status === "True" && since !== undefined && +now - +since > INITIALIZED_MS;
}

function secondsSince(started: number): number {
  return (performance.now() - started) / 1000;
}
