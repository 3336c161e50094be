/** Handles one hook call from bytes to bytes. Whatever fails, the Cluster is held. */

import type { HookName } from "../api/runtime-hooks.ts";
import type { Logger } from "../lib/logger.ts";
import type { Confirmation, Decision } from "../policy/decision.ts";
import type { Standing } from "../policy/standing.ts";
import type { WholeBody } from "../extension/whole-body.ts";
import type { AnswerRecorder, AnswerVerdict, Outcome } from "./answer-log.ts";
import type { ServedHooks } from "../api/hook-catalog.ts";
import type { HookServerOptions } from "../extension/hook-server.ts";
import { type Answer, encodeResponse, failureResponse } from "../extension/codec.ts";
import { decodeRequest, type HookRequest } from "./hook-request.ts";
import { extensionRoutes } from "../extension/routes.ts";
import { type Replay, Replays } from "./replays.ts";
import { seenSubject } from "./subject.ts";

/** The source of decisions (memory/answers.ts, rollouts/rollout-decisions.ts and release/release.ts). */
export interface DecisionSource {
  /** Whether all policies, Clusters and Namespaces are in memory. */
  loaded(): boolean;
  /**
   * Decides at once or when it is the Cluster's turn: calls about one namespace must not delay those about others. If too
   * many calls about the Cluster wait already, the answer is that of `refuse`.
   */
  inTurn<T>(request: HookRequest, decide: () => T | Promise<T>, refuse: () => T): T | Promise<T>;
  /** Decides from memory, without changing any state. */
  ask(request: HookRequest, now: Date): Decision;
  /** Tells whether the decision that ask() has just made still stands. `undefined`: unknown. */
  standing(request: HookRequest, decision: Decision, at: Date): Standing | undefined;
  /** Decides from a fresh read: a release needs it, because memory may lag behind. Never rejects. */
  confirm(request: HookRequest): Promise<Confirmation>;
}

export interface HookMetrics {
  answered(hook: HookName, verdict: AnswerVerdict, seconds: number): void;
  unconfirmed(reason: string): void;
  discovered(): void;
}

export interface HandlerDeps {
  readonly source: DecisionSource;
  readonly metrics: HookMetrics;
  readonly answers: AnswerRecorder;
  readonly log: Logger;
  /** For warnings that any caller can cause: logged now and then, however often they happen. */
  readonly complain: Logger["warn"];
  readonly now: () => Date;
}

/** Short, because the reason passes by itself, and Cluster API does not call earlier. */
const SOON_SECONDS = 5;

const TEXT = {
  NotLoaded: "HookPolicy is still loading policies and holds every Cluster until it has finished",
  NotConfirmed: "HookPolicy could not confirm the decision with the API server, so the Cluster stays held",
  TooManyCalls:
    "too many calls about this Cluster wait for a decision of HookPolicy, so the Cluster stays held",
  InternalError: "HookPolicy could not decide because of an internal error (see the operator's log)",
} as const;

export interface HookHandler {
  /** The last answer about the Cluster that the body names, if it holds, still stands, and depends on nothing else in a body. */
  readonly repeat: (body: WholeBody) => string | undefined;
  /** The JSON text of the answer. */
  readonly handle: (body: WholeBody) => string | Promise<string>;
  /** The Cluster is deleted. */
  readonly forget: (clusterUID: string) => void;
}

export interface Routes extends Pick<HookServerOptions, "routes" | "undecodable"> {
  /** Forgets what is kept for repeated calls about a deleted Cluster. */
  readonly forget: (clusterUID: string) => void;
}

export function createRoutes(served: ServedHooks, deps: HandlerDeps): Routes {
  const handlers: HookHandler[] = [];
  const routes = extensionRoutes(served, {
    handlerOf: (hook, waits) => {
      const handler = createHandler(hook, waits, deps);
      handlers.push(handler);
      return handler;
    },
    failed: internalErrorResponse,
    unauthenticated: (hook) => deps.metrics.answered(hook, "Unauthenticated", 0),
    discovered: () => deps.metrics.discovered(),
  });
  return {
    ...routes,
    forget: (clusterUID) => {
      for (const { forget } of handlers) forget(clusterUID);
      deps.answers.forget(clusterUID);
    },
  };
}

/** `waits`: Cluster API waits for this hook; where it does not, the answer is always Success. */
export function createHandler(hook: HookName, waits: boolean, deps: HandlerDeps): HookHandler {
  const replays = new Replays();
  const again = ({ verdict, subject, text }: Replay, started: number, now: Date): string => {
    deps.metrics.answered(hook, verdict, secondsSince(started));
    deps.answers.repeat(hook, subject.clusterUID, now);
    return text;
  };
  const repeat = (body: WholeBody): string | undefined => {
    const started = performance.now();
    const seen = seenSubject(hook, body);
    const now = deps.now();
    const replay = seen && replays.find(seen, now);
    return replay && again(replay, started, now);
  };
  const handle = (body: WholeBody): string | Promise<string> => {
    const started = performance.now();
    const sent = body.text();
    const received = sent === undefined ? undefined : decodeRequest(hook, sent);
    if (received === undefined) {
      deps.complain("Refusing a request that cannot be decoded", { hook, bytes: body.size });
      deps.metrics.answered(hook, "Undecodable", secondsSince(started));
      return failureResponse(hook, "undecodable", waits);
    }
    const { subject } = received;
    const replay = replays.find(subject, deps.now());
    if (replay !== undefined) return again(replay, started, deps.now());
    const request = received.read();
    const finish = (outcome: Outcome): string => {
      deps.metrics.answered(hook, outcome.verdict, secondsSince(started));
      deps.answers.record(request, outcome, deps.now());
      const text = encodeResponse(hook, outcome.answer, waits);
      const { verdict, stands } = outcome;
      if (stands === undefined) replays.forget(subject.clusterUID);
      else replays.keep({ subject, verdict, text, stands });
      return text;
    };
    const bug = (error: unknown): Outcome => {
      deps.log.error("Failed to decide", { hook, error });
      return undecided("InternalError", waits);
    };
    const refuse = (): string => {
      deps.metrics.answered(hook, "NotConfirmed", secondsSince(started));
      return encodeResponse(hook, refused(request, deps, waits), waits);
    };
    const decide = (): string | Promise<string> => {
      const meanwhile = replays.find(subject, deps.now());
      if (meanwhile !== undefined) return again(meanwhile, started, deps.now());
      const outcome = waits ? answer(request, deps) : observe(request, deps);
      return outcome instanceof Promise ? outcome.catch(bug).then(finish) : finish(outcome);
    };
    try {
      const text = deps.source.inTurn(request, decide, refuse);
      return text instanceof Promise ? text.catch((error: unknown) => finish(bug(error))) : text;
    } catch (error) {
      return finish(bug(error));
    }
  };
  return { repeat, handle, forget: (clusterUID) => replays.forget(clusterUID) };
}

function secondsSince(started: number): number {
  return (performance.now() - started) / 1000;
}

function answer(request: HookRequest, deps: HandlerDeps): Outcome | Promise<Outcome> {
  if (!deps.source.loaded()) return undecided("NotLoaded", true);
  const at = deps.now();
  const decision = deps.source.ask(request, at);
  // A decision about an invented Cluster would reveal whether the objects that gates look at exist.
  if (!decision.holds || decision.basis?.fromRequest === true) return confirm(request, decision, deps);
  return { ...decided(decision), stands: deps.source.standing(request, decision, at) };
}

/** A release, or any answer about a Cluster that is not in memory, needs a fresh read. */
async function confirm(request: HookRequest, before: Decision, deps: HandlerDeps): Promise<Outcome> {
  const confirmation = await deps.source.confirm(request);
  if (!confirmation.ok) return unconfirmed(request, confirmation.reason, deps);
  const { decision } = confirmation;
  if (!decision.holds && before.holds) return unconfirmed(request, "HeldAsRequested", deps);
  return decided(decision);
}

/** The reason is for the log and the metric; the caller gets the same text for every reason. */
function unconfirmed(request: HookRequest, reason: string, deps: HandlerDeps): Outcome {
  deps.metrics.unconfirmed(reason);
  deps.log.warn("Holding a Cluster because a release could not be confirmed", {
    hook: request.call.hook,
    cluster: nameOf(request),
    reason,
  });
  return undecided("NotConfirmed", true);
}

/** The last answer about the Cluster stays recorded, and is still repeated. */
function refused(request: HookRequest, deps: HandlerDeps, waits: boolean): Answer {
  deps.metrics.unconfirmed("TooManyCalls");
  deps.complain("Holding a Cluster because too many calls about it wait", {
    hook: request.call.hook,
    cluster: nameOf(request),
  });
  return undecided("TooManyCalls", waits).answer;
}

function nameOf({ cluster: { metadata } }: HookRequest): string {
  return `${metadata.namespace}/${metadata.name}`;
}

/** Answers a hook that cannot hold: at any other answer, Cluster API would stop the whole reconcile. */
function observe(request: HookRequest, deps: HandlerDeps): Outcome {
  if (!deps.source.loaded()) return undecided("NotLoaded", false);
  const decision = deps.source.ask(request, deps.now());
  return { verdict: decision.verdict, answer: GO, decision };
}

const GO: Answer = { status: "Success", retryAfterSeconds: 0, message: "" };

function decided(decision: Decision): Outcome {
  const { verdict, holds, retryAfterSeconds, message } = decision;
  const wait: Answer = { status: "Success", retryAfterSeconds: Math.max(1, retryAfterSeconds), message };
  return { verdict, decision, answer: holds ? wait : GO };
}

/** Without a decision the answer is to hold, if the hook can hold. */
function undecided(why: keyof typeof TEXT, waits: boolean): Outcome {
  const wait: Answer = { status: "Success", retryAfterSeconds: SOON_SECONDS, message: TEXT[why] };
  return { verdict: why === "TooManyCalls" ? "NotConfirmed" : why, answer: waits ? wait : GO };
}

function internalErrorResponse(hook: HookName, waits: boolean): string {
  return encodeResponse(hook, undecided("InternalError", waits).answer, waits);
}
