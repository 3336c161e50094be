/** AdmissionReview of admission.k8s.io/v1: decodes a policy change and encodes a verdict. */

import { parseJson } from "../lib/fields.ts";
import {
  GROUP,
  type ClusterHookPolicy,
  type HookOverride,
  type HookPolicy,
  type HookRollout,
} from "../api/hook-policy.ts";
import type { Decision } from "../policy/decision.ts";
import { type Denial, joinWarnings } from "./denial.ts";
import { isReview, isStored, type UserInfo } from "./review-validators.ts";

const REVIEWED_KINDS = ["HookPolicy", "ClusterHookPolicy", "HookOverride", "HookRollout"] as const;

/** A create or an update, as the API server would store it. */
export interface Review {
  readonly user: UserInfo;
  readonly object: HookPolicy | ClusterHookPolicy | HookOverride | HookRollout;
  /** Absent: a create. */
  readonly old?: Review["object"];
}

export interface ReviewVerdict {
  /** Absent: admitted. */
  readonly denial?: Denial;
  readonly warnings?: readonly string[];
}

/** Of the webhook of Clusters. Blocked, NotEvaluable: a policy refuses it. The verdicts without a decision refuse it, too. */
export type AdmissionVerdict =
  | Extract<Decision["verdict"], "Blocked" | "NotEvaluable">
  | "Allowed"
  | "Warned"
  | "NotLoaded"
  | "NotConfirmed"
  | "TooManyCalls"
  | "TooManyVersions"
  | "InternalError";

export interface AdmissionOutcome extends ReviewVerdict {
  readonly verdict: AdmissionVerdict;
  /** Absent: nothing was decided. */
  readonly decision?: Decision;
  /** Why a decision could not be confirmed. */
  readonly reason?: string;
}

/** Reviews of one share that wait for their turn. */
export const WAITING_OF_ONE = 16;

export const ADMITTED: ReviewVerdict = {};

/**
 * `undefined`: not a review. `review` is absent for other operations, subresources and kinds, which are not checked. Never
 * throws for any bytes.
 */
export function decodeReview(body: Buffer): { readonly review?: Review } | undefined {
  const raw = parseJson(body.toString("utf8"));
  if (!isReview(raw)) return undefined;
  const { kind, subResource, operation, userInfo, object: after, oldObject: before } = raw.request;
  const isOurs = kind.group === GROUP && REVIEWED_KINDS.some((reviewed) => reviewed === kind.kind);
  if (!isOurs || (subResource ?? "") !== "" || !["CREATE", "UPDATE"].includes(operation)) return {};
  if (!isObject(after, kind.kind)) return undefined;
  if (operation === "CREATE") return { review: { user: userInfo, object: after } };
  return isObject(before, kind.kind) ? { review: { user: userInfo, object: after, old: before } } : undefined;
}

/** The parts of a review that are known before it is examined. */
export interface Head {
  /** The answer repeats it. */
  readonly uid: string;
  /** The share of the review: the namespace, or the user if there is none. */
  readonly share: string;
}

/** The API server writes everything else before the objects (k8s.io/api/admission/v1: AdmissionRequest). */
const MAX_HEAD_BYTES = 128 * 1024;
const OBJECT = Buffer.from(',"object":');

/** `undefined`: not a review of the API server. Never throws. */
export function readHead(body: Buffer): Head | undefined {
  const end = body.subarray(0, MAX_HEAD_BYTES).indexOf(OBJECT);
  const raw = end < 0 ? undefined : parseJson(`${body.toString("utf8", 0, end)}}}`);
  if (!isReview(raw)) return undefined;
  const { uid, namespace = "", userInfo } = raw.request;
  return { uid, share: namespace === "" ? `user ${userInfo.username}` : `namespace ${namespace}` };
}

/** The API server has checked the rest against the CRD; HookPolicy's own checks follow later. */
function isObject(value: unknown, kind: string): value is Review["object"] {
  return isStored(value) && value.kind === kind;
}

export function encodeVerdict(uid: string, { denial, warnings = [] }: ReviewVerdict): string {
  return JSON.stringify({
    apiVersion: "admission.k8s.io/v1",
    kind: "AdmissionReview",
    response: {
      uid,
      allowed: denial === undefined,
      ...(denial !== undefined && { status: { status: "Failure", ...denial } }),
      ...(warnings.length > 0 && { warnings: joinWarnings(warnings) }),
    },
  });
}

/** Without the uid of a request the API server treats the answer as a failed call and applies its failurePolicy. */
export const NOT_REVIEWED = encodeVerdict("", {
  denial: { code: 400, reason: "BadRequest", message: "not a valid AdmissionReview" },
});
