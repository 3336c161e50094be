/** One hook call from bytes to bytes. Whatever happens, the answer is a decided one: blocked rather than let go. */

import type { HookName } from "../api/runtimehooks.ts";
import type { Logger } from "../api/logger.ts";
import type { Confirmation, Decision } from "../policy/decision.ts";
import type { AnswerRecorder, AnswerVerdict, Outcome } from "./answerlog.ts";
import {
  type Answer,
  decodeRequest,
  encodeResponse,
  type HookRequest,
  undecodableResponse,
} from "./codec.ts";
import { type Replay, Replays } from "./replays.ts";

/** Where decisions come from (controller/store.ts and controller/confirmation.ts). */
export interface DecisionSource {
  /** Policies, Clusters and Namespaces are all in memory. */
  loaded(): boolean;
  /**
   * Decides at once, or when it is the Cluster's turn: calls about one namespace must not keep those about others
   * waiting. Where too many of them wait already, `refuse` gives the answer.
   */
  inTurn<T>(request: HookRequest, decide: () => T | Promise<T>, refuse: () => T): T | Promise<T>;
  /** The decision from memory, in which a question changes nothing. */
  ask(request: HookRequest, now: Date): Decision;
  /**
   * Tells, of what ask() has just decided, whether it would decide the same again. `undefined`: nobody can tell.
   */
  standing(request: HookRequest, decision: Decision, at: Date): ((now: Date) => boolean) | undefined;
  /** The decision against the present: a go needs it, because memory may lag behind. Never rejects. */
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
  /** For what strangers can cause: a warning now and then, however often it happens. */
  readonly complain: Logger["warn"];
  readonly now: () => Date;
}

/** Short: the reason passes by itself, and Cluster API does not ask earlier whatever changes. */
const SOON_SECONDS = 5;

const TEXT = {
  NotLoaded: "HookPolicy has not loaded all policies yet and lets nothing go on before it has",
  NotConfirmed:
    "HookPolicy lets nothing go on before it has confirmed its decision with the API server, which it could not",
  TooManyCalls:
    "too many calls about this Cluster wait for a decision of HookPolicy, so the Cluster stays held",
  InternalError: "HookPolicy could not decide because of an internal error (see the operator's log)",
} as const;

export interface HookHandler {
  /** The JSON text of the answer; without the digest of the body it is not repeated. */
  readonly handle: (body: Buffer, digest?: string) => string | Promise<string>;
  /** The answer to bytes of this digest, if there was one that holds and still stands. */
  readonly repeat?: (digest: string) => string | undefined;
  /** The Cluster is gone. */
  readonly forget: (clusterUID: string) => void;
}

/** `waits`: Cluster API waits for this hook; where it does not, the answer is always Success. */
export function createHandler(hook: HookName, waits: boolean, deps: HandlerDeps): HookHandler {
  const replays = new Replays();
  const again = ({ verdict, clusterUID, text }: Replay, started: number): string => {
    deps.metrics.answered(hook, verdict, secondsSince(started));
    deps.answers.repeat(hook, clusterUID, deps.now());
    return text;
  };
  const repeat = (digest: string): string | undefined => {
    const started = performance.now();
    const replay = replays.find(digest, deps.now());
    return replay && again(replay, started);
  };
  const handle = (body: Buffer, digest?: string): string | Promise<string> => {
    const started = performance.now();
    const received = decodeRequest(hook, body);
    if (received === undefined) {
      deps.complain("Refusing a request that cannot be decoded", { hook, bytes: body.length });
      deps.metrics.answered(hook, "Undecodable", secondsSince(started));
      return undecodableResponse(hook, waits);
    }
    const { clusterUID, subject } = received;
    const replay = digest === undefined ? undefined : replays.findSubject(received, digest, deps.now());
    if (replay !== undefined) return again(replay, started);
    const request = received.read();
    const finish = (outcome: Outcome): string => {
      deps.metrics.answered(hook, outcome.verdict, secondsSince(started));
      deps.answers.record(request, outcome, deps.now());
      const text = encodeResponse(hook, outcome.answer, waits);
      const { verdict, stands } = outcome;
      if (stands === undefined || digest === undefined) replays.forget(clusterUID);
      else replays.keep(digest, { clusterUID, subject, verdict, text, stands });
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
      const meanwhile = digest === undefined ? undefined : replays.findSubject(received, digest, deps.now());
      if (meanwhile !== undefined) return again(meanwhile, started);
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
  return { handle, ...(waits && { repeat }), forget: (clusterUID) => replays.forget(clusterUID) };
}

function secondsSince(started: number): number {
  return (performance.now() - started) / 1000;
}

function answer(request: HookRequest, deps: HandlerDeps): Outcome | Promise<Outcome> {
  if (!deps.source.loaded()) return undecided("NotLoaded", true);
  const at = deps.now();
  const decision = deps.source.ask(request, at);
  // What is decided of an invented Cluster would tell whether the objects that gates look at are there.
  if (!decision.holds || decision.basis?.fromRequest === true) return confirm(request, decision, deps);
  return { ...decided(decision), stands: deps.source.standing(request, decision, at) };
}

/** Memory may say "not yet"; only the present may say "go", and of a Cluster that memory does not have, anything. */
async function confirm(request: HookRequest, before: Decision, deps: HandlerDeps): Promise<Outcome> {
  const confirmation = await deps.source.confirm(request);
  if (!confirmation.ok) return unconfirmed(request, confirmation.reason, deps);
  const { decision } = confirmation;
  if (!decision.holds && before.holds) return unconfirmed(request, "HeldAsRequested", deps);
  return decided(decision);
}

/** The reason is for the log and the metric: callers are told the same whatever it is. */
function unconfirmed(request: HookRequest, reason: string, deps: HandlerDeps): Outcome {
  deps.metrics.unconfirmed(reason);
  deps.log.warn("Holding a Cluster because a release could not be confirmed", {
    hook: request.call.hook,
    cluster: nameOf(request),
    reason,
  });
  return undecided("NotConfirmed", true);
}

/** Leaves no other trace: the last answer about the Cluster, and what is kept of it, stay as they are. */
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

/** A hook that cannot hold anything: Cluster API stops the whole reconcile on anything but Success. */
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

/** What is not decided is held, where the hook can hold at all. */
function undecided(why: keyof typeof TEXT, waits: boolean): Outcome {
  const wait: Answer = { status: "Success", retryAfterSeconds: SOON_SECONDS, message: TEXT[why] };
  return { verdict: why === "TooManyCalls" ? "NotConfirmed" : why, answer: waits ? wait : GO };
}

/** For what goes wrong around a handler. */
export function internalErrorResponse(hook: HookName, waits: boolean): string {
  return encodeResponse(hook, undecided("InternalError", waits).answer, waits);
}
