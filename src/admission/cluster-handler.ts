/**
 * The validating webhook of Clusters: rules with `admission` speak before the API server stores a request. Only what was
 * confirmed with the API server passes; a request is refused when anything about the decision is unknown.
 */

import { setTimeout as sleep } from "node:timers/promises";
import type { HookName } from "../api/runtime-hooks.ts";
import { withinBudget } from "../lib/signals.ts";
import { type RequestedOperation, requestedOperations } from "../operations/requested-operation.ts";
import { holdWarnings } from "../policy/decide.ts";
import { CONFIRM_MS, type Decisions } from "../decisions/decisions.ts";
import type { Decision } from "../policy/decision.ts";
import { Turns } from "../turns/turns.ts";
import { type ClusterReview, decodeClusterReview } from "./cluster-review.ts";
import { refusedBy, undecidedRequest } from "./cluster-denial.ts";
import { type Denial, tooBusy } from "./denial.ts";
import { type AdmissionOutcome, encodeVerdict, NOT_REVIEWED, readHead, WAITING_OF_ONE } from "./review.ts";

export const CLUSTER_ADMISSION_PATH = "/validate-cluster-x-k8s-io";

export type AdmissionRequest = RequestedOperation & {
  readonly admission: true;
  readonly fromApiServer?: true;
};

/** Decides about reviews. */
export type ClusterDecisions = Pick<
  Decisions,
  "loaded" | "inTurn" | "refusal" | "confirmRequest" | "warnings"
>;

/** A review whose request was refused. */
export interface RequestRefusal {
  readonly review: ClusterReview;
  readonly requested: RequestedOperation;
  readonly outcome: AdmissionOutcome & { readonly denial: Denial };
}

export interface AdmissionRecorder {
  /** A review was decided; `seconds` since it had arrived. */
  decided(
    review: ClusterReview,
    requested: RequestedOperation,
    outcome: AdmissionOutcome,
    seconds: number,
  ): void;
  /** A review that begins no operation, which the API server's matchConditions should have left out. */
  unconcerned(): void;
  /** Not a review of a Cluster, so that the API server refuses the request. */
  undecodable(bytes: number): void;
  failed(hook: HookName, error: unknown): void;
}

export interface ClusterAdmissionDeps {
  /** Whether only the API server is answered. */
  readonly authenticated: boolean;
  readonly source: ClusterDecisions;
  readonly recorder: AdmissionRecorder;
  readonly now: () => Date;
}

/** Parsing a larger body takes a millisecond and more. A review of an update has the Cluster twice: one of 45 KiB never waits. */
const LARGE_BYTES = 100 * 1024;
/** A watch reports what can hold some milliseconds after the API server has stored it; a Cluster may follow at once. */
const BEHIND: ReadonlySet<string | undefined> = new Set([
  "PolicyNotInMemory",
  "PoliciesChanging",
  "RolloutNotInMemory",
]);
const PAUSES_MS = [50, 200, 500];
/** For the whole review, from its arrival: the webhook times out after 5 s, and its user would not learn why. */
const WITHIN_MS = 4500;
/** Counts from the arrival, too, and a confirmation follows. */
const LAST_BEGIN_MS = WITHIN_MS - CONFIRM_MS;
/** Each operation is confirmed by itself. */
const MAX_OPERATIONS = 8;

export function createClusterHandler(deps: ClusterAdmissionDeps): (body: Buffer) => Promise<string> {
  const turns = new Turns({ places: 1, waitingOfOne: WAITING_OF_ONE, waitMs: LAST_BEGIN_MS, rests: true });
  return async (body) => {
    const started = performance.now();
    const review = body.length > LARGE_BYTES ? await decodeInTurn(body, turns) : decodeClusterReview(body);
    if (typeof review === "string") return review;
    if (review === undefined) {
      deps.recorder.undecodable(body.length);
      return NOT_REVIEWED;
    }
    const operations = requestedOperations(review.change);
    if (operations.length === 0) deps.recorder.unconcerned();
    const warnings: string[] = [];
    const isTooMuch = operations.length > MAX_OPERATIONS;
    for (const requested of operations) {
      const decide = async (): Promise<AdmissionOutcome> =>
        await caughtUp(started, async () => await judge(requested, deps));
      const leftMs = WITHIN_MS - (performance.now() - started);
      const outcome = isTooMuch
        ? without(requested, "TooManyVersions")
        : await withinBudget(leftMs, without(requested, "NotConfirmed", "Timeout"), decide);
      deps.recorder.decided(review, requested, outcome, (performance.now() - started) / 1000);
      if (outcome.denial !== undefined) return encodeVerdict(review.uid, outcome);
      warnings.push(...(outcome.warnings ?? []));
    }
    return encodeVerdict(review.uid, { warnings });
  };
}

/**
 * Calls are answered between large reviews, and namespaces take turns. A text is the answer when too many reviews wait.
 */
async function decodeInTurn(body: Buffer, turns: Turns): Promise<ClusterReview | undefined | string> {
  const { uid = "", share = "unknown" } = readHead(body) ?? {};
  const decoded = await turns.run(share, () => decodeClusterReview(body));
  return "refused" in decoded ? encodeVerdict(uid, { denial: tooBusy("Clusters") }) : decoded.result;
}

/**
 * The outcome of `decide`, or of a later try while memory is behind the API server, instead of a refusal that asks the user to
 * try again. `began`: a value of performance.now().
 */
export async function caughtUp(
  began: number,
  decide: () => Promise<AdmissionOutcome>,
): Promise<AdmissionOutcome> {
  let outcome = await decide();
  for (const ms of PAUSES_MS) {
    const isBehind = outcome.verdict === "NotConfirmed" && BEHIND.has(outcome.reason);
    if (!isBehind || performance.now() - began + ms > LAST_BEGIN_MS) break;
    await sleep(ms);
    outcome = await decide();
  }
  return outcome;
}

async function judge(requested: RequestedOperation, deps: ClusterAdmissionDeps): Promise<AdmissionOutcome> {
  const sender = deps.authenticated ? { fromApiServer: true as const } : {};
  const request: AdmissionRequest = { ...requested, admission: true, ...sender };
  try {
    if (!deps.source.loaded()) return without(requested, "NotLoaded");
    const decide = async (): Promise<AdmissionOutcome> => {
      const refusal = deps.source.refusal(request, deps.now());
      if (refusal !== undefined) return refused(requested, refusal);
      const confirmation = await deps.source.confirmRequest(request);
      if (!confirmation.ok) return without(requested, "NotConfirmed", confirmation.reason);
      const { decision } = confirmation;
      return decision.holds ? refused(requested, decision) : passed(request, decision, deps);
    };
    return await deps.source.inTurn(request, decide, () => without(requested, "TooManyCalls"));
  } catch (error) {
    deps.recorder.failed(requested.call.hook, error);
    return without(requested, "InternalError");
  }
}

function without(
  requested: RequestedOperation,
  verdict: Parameters<typeof undecidedRequest>[1],
  reason?: string,
): AdmissionOutcome {
  const denial = undecidedRequest(requested, verdict, reason);
  return { verdict, denial, ...(reason !== undefined && { reason }) };
}

function refused(requested: RequestedOperation, decision: Decision): AdmissionOutcome {
  const verdict = decision.verdict === "Blocked" ? "Blocked" : "NotEvaluable";
  return { verdict, denial: refusedBy(requested, decision), decision };
}

function passed(
  request: AdmissionRequest,
  decision: Decision,
  { source, now }: ClusterAdmissionDeps,
): AdmissionOutcome {
  const warnings = holdWarnings(source.warnings(request, now()).trace);
  return { verdict: warnings.length > 0 ? "Warned" : "Allowed", warnings, decision };
}
