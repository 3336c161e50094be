/**
 * The only error class of the API server adapter. Callers test its meaning (the predicates below), never its text.
 * Messages are one bounded line without credentials: texts of client-node and undici are cleaned first.
 */

import { codeOf, messageOf, unless } from "../lib/thrown.ts";
import { fieldsOf, listOf, nonEmptyText, textOf } from "../lib/fields.ts";

export interface KubeErrorDetails {
  /** The HTTP status; 0 when there was no response (transport, credentials, abort). */
  readonly code: number;
  /** From the API server's Status ("NotFound", "Conflict"), or one of HookPolicy's own ("Timeout", "TLS", ...). */
  readonly reason: string;
  readonly retryAfterSeconds?: number;
  readonly cause?: unknown;
}

export class KubeError extends Error {
  override readonly name = "KubeError";
  readonly code: number;
  readonly reason: string;
  readonly retryAfterSeconds?: number;

  constructor(message: string, details: KubeErrorDetails) {
    super(message, details.cause === undefined ? undefined : { cause: details.cause });
    this.code = details.code;
    this.reason = details.reason;
    if (details.retryAfterSeconds !== undefined) this.retryAfterSeconds = details.retryAfterSeconds;
  }
}

type Predicate = (error: unknown) => boolean;
const hasCode = (code: number): Predicate => {
  return (error) => error instanceof KubeError && error.code === code;
};
const hasReason = (reason: string): Predicate => {
  return (error) => error instanceof KubeError && error.reason === reason;
};
/** For what is said in the text alone. */
const says = (text: string): Predicate => {
  return (error) => error instanceof KubeError && error.message.includes(text);
};

export const isNotFound = hasCode(404);
export const isUnauthorized = hasCode(401);
export const isForbidden = hasCode(403);
export const isThrottled = hasCode(429);

/** RBAC names the user (k8s.io/apiserver, responsewriters/errors.go); a quota and a webhook, Forbidden as well, do not. */
export const isRightMissing: Predicate = (error) => isForbidden(error) && says('User "')(error);
/** The CRD does not know a field of a strict request (k8s.io/apimachinery, runtime/error.go). */
export const isUnknownField = says("strict decoding error");
/** Cluster API's webhook of ExtensionConfigs (internal/webhooks/runtime/extensionconfig_webhook.go). */
export const isRuntimeSDKOff = says("RuntimeSDK feature flag");

/** `undefined` when the object does not exist. */
export async function unlessNotFound<T>(work: Promise<T>): Promise<T | undefined> {
  return await unless(isNotFound, work);
}

/** The object changed since it was read. Excludes other 409s, which are not worth a retry. */
export const isConflict = hasReason("Conflict");
export const isAlreadyExists = hasReason("AlreadyExists");
/** The object that was read is gone, has changed, or another one has its name. */
export const isReplaced = (error: unknown): boolean => isNotFound(error) || isConflict(error);

/** The API server no longer knows the resourceVersion, so a new list is needed. */
export const isGone = (error: unknown): boolean =>
  error instanceof KubeError && (error.code === 410 || error.reason === "Expired" || error.reason === "Gone");

const NAMESPACE_TERMINATING = "NamespaceTerminating";

/** The namespace is being deleted and accepts no new objects. */
export const isNamespaceTerminating = hasReason(NAMESPACE_TERMINATING);

export const FIELD_MANAGER_CONFLICT = "FieldManagerConflict";

/** A server-side apply without force: another manager has set one of the fields to another value. */
export const isFieldManagerConflict = hasReason(FIELD_MANAGER_CONFLICT);

/** Of a Status whose reason is a more general one. */
const CAUSES: readonly string[] = [NAMESPACE_TERMINATING, FIELD_MANAGER_CONFLICT];

export const isTooLarge = hasReason("ResponseTooLarge");

/** Cancelled by the caller; says nothing about the API server. */
export const isAborted = hasReason("Aborted");

/** The API server itself did not answer: transport, credentials, or a proxy in front of it (502, 503, 504). */
export const isUnreachable = (error: unknown): boolean =>
  error instanceof KubeError &&
  (error.code === 0 ? !NOT_TRANSPORT.has(error.reason) : error.code >= 502 && error.code <= 504);

const NOT_TRANSPORT: ReadonlySet<string> = new Set([
  "Aborted",
  "InvalidKubeConfig",
  "InvalidResponse",
  "ResponseTooLarge",
]);

/** The operation for messages: "get clusters.cluster.x-k8s.io team-a/prod-1". */
export type Attempt = string;

export const MAX_DETAIL = 300;
const MAX_RETRY_AFTER_SECONDS = 60;

/** Returns one bounded line without anything that looks like a credential. */
export function cleanLine(text: string): string {
  const line = text
    .replaceAll(/\beyJ[\w.-]+/g, "[redacted]")
    .replaceAll(/\b(bearer|basic)\s+[^\s"',]{12,}/gi, "$1 [redacted]")
    .replaceAll(/\b(token|password|secret)(["']?\s*[:=]\s*["']?)[^\s"',}]+/gi, "$1$2[redacted]")
    .replaceAll(/(:\/\/)[^\s/@]+@/g, "$1[redacted]@")
    .replaceAll(/\s+/g, " ")
    .trim();
  return line.length > MAX_DETAIL ? `${line.slice(0, MAX_DETAIL)}...` : line;
}

/** "NotFound" -> "not found", for the middle of a message. */
function words(reason: string): string {
  return reason.replaceAll(/(?<=[a-z])(?=[A-Z])/g, " ").toLowerCase();
}

const REASONS: Readonly<Record<number, string>> = {
  400: "BadRequest",
  401: "Unauthorized",
  403: "Forbidden",
  404: "NotFound",
  409: "Conflict",
  410: "Gone",
  422: "Invalid",
  429: "TooManyRequests",
  500: "InternalError",
  503: "ServiceUnavailable",
  504: "Timeout",
};

/** From a metav1.Status (also the object of a watch's ERROR event); `body` is what the server sent. */
export function fromStatus(attempt: Attempt, httpCode: number, body: unknown, retryAfter = ""): KubeError {
  const status = fieldsOf(body);
  const code = typeof status["code"] === "number" ? status["code"] : httpCode;
  const stated = nonEmptyText(status["reason"]) ?? REASONS[code] ?? `HTTP${code}`;
  const reason = CAUSES.find((cause) => hasCause(status["details"], cause)) ?? stated;
  const detail = cleanLine(textOf(status["message"] ?? body));
  const seconds = retryAfterOf(status["details"], retryAfter);
  return new KubeError(`${attempt}: ${words(reason)}${detail === "" ? "" : `: ${detail}`}`, {
    code,
    reason,
    ...(seconds === undefined ? {} : { retryAfterSeconds: seconds }),
  });
}

/** A Forbidden and a Conflict can have a cause with more detail. */
function hasCause(details: unknown, reason: string): boolean {
  return listOf(fieldsOf(details)["causes"]).some((cause) => fieldsOf(cause)["reason"] === reason);
}

/**
 * The header takes precedence over the Status: priority and fairness sets only the header. Kubernetes never sends a
 * date (RFC 9110).
 */
function retryAfterOf(details: unknown, header: string): number | undefined {
  const seconds = /^\d+$/.test(header) ? Number(header) : fieldsOf(details)["retryAfterSeconds"];
  if (typeof seconds !== "number" || !(seconds > 0)) return undefined;
  return Math.min(seconds, MAX_RETRY_AFTER_SECONDS);
}

/** The API server's response does not have the expected form. */
export function invalidResponse(attempt: Attempt, what: string): KubeError {
  return new KubeError(`${attempt}: invalid response: ${what}`, { code: 0, reason: "InvalidResponse" });
}

export function responseTooLarge(attempt: Attempt, what: string): KubeError {
  return new KubeError(`${attempt}: response too large: ${what}`, { code: 0, reason: "ResponseTooLarge" });
}

/** Converts what a failed request threw; returns a KubeError unchanged. */
export function fromTransport(attempt: Attempt, error: unknown): KubeError {
  if (error instanceof KubeError) return error;
  const root = rootOf(error);
  const code = codeOf(root);
  const known = TRANSPORT.find(([pattern]) => pattern.test(code))?.[1] ?? "Transport";
  const reason = root instanceof Error && root.name === "AbortError" ? "Aborted" : known;
  const detail = cleanLine(messageOf(root));
  return new KubeError(`${attempt}: ${words(reason)}: ${detail}`, { code: 0, reason, cause: error });
}

/** A failed connect is an AggregateError with one entry per address (happy eyeballs); undici wraps causes. */
function rootOf(error: unknown): unknown {
  if (error instanceof AggregateError && error.errors.length > 0) return error.errors[0];
  if (error instanceof Error && codeOf(error) === "" && error.cause instanceof Error)
    return rootOf(error.cause);
  return error;
}

const TRANSPORT: readonly (readonly [RegExp, string])[] = [
  [/^ECONNREFUSED$/, "ConnectionRefused"],
  [
    /^(ECONNRESET|EPIPE|UND_ERR_SOCKET|UND_ERR_CLOSED|UND_ERR_DESTROYED|ERR_STREAM_PREMATURE_CLOSE)$/,
    "ConnectionReset",
  ],
  [/^(ETIMEDOUT|UND_ERR_\w*TIMEOUT)$/, "Timeout"],
  [/^(ENOTFOUND|EAI_\w+)$/, "HostNotFound"],
  [/^(EHOSTUNREACH|ENETUNREACH|ENETDOWN|EHOSTDOWN)$/, "HostUnreachable"],
  [/^(ERR_TLS|ERR_SSL|CERT_|UNABLE_TO_|SELF_SIGNED|DEPTH_ZERO|EPROTO|HOSTNAME_MISMATCH|ERR_OSSL)/, "TLS"],
];
