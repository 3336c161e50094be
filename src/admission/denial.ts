/** Refusals in the form of the API server's own (metav1.Status), so that clients print them in the same way, and warnings. */

import { GROUP } from "../api/hook-policy.ts";
import { counted } from "../lib/counted.ts";
import { printable } from "../lib/printable.ts";
import { truncate, truncateText } from "../lib/truncate.ts";
import { MAX_ERRORS, MAX_WARNING } from "../policy/message.ts";
import type { FieldError, Kind } from "../policy/validation/schema.ts";
import type { UndecodableReason } from "../server/hook-server.ts";

/** The subject of a review, as far as refusals name it. */
export interface ReviewedObject {
  readonly kind: Kind;
  readonly metadata: { readonly namespace?: string; readonly name: string };
}

export interface Denial {
  readonly code: number;
  readonly reason: "Invalid" | "Forbidden" | "TooManyRequests" | "ServiceUnavailable" | "BadRequest";
  readonly message: string;
  readonly details?: {
    readonly name?: string;
    readonly group: string;
    readonly kind?: string;
    readonly causes?: readonly Cause[];
    /** Clients of the API server retry by themselves after this time. */
    readonly retryAfterSeconds?: number;
  };
}

interface Cause {
  readonly reason: "FieldValueInvalid" | "FieldValueForbidden" | undefined;
  readonly message: string;
  readonly field: string;
}

const MAX_CAUSE = 1024;
export const MAX_MESSAGE = 8192;

interface Form extends Pick<Denial, "code" | "reason"> {
  readonly says: string;
  readonly cause?: Cause["reason"];
}

const FORMS: Readonly<Record<"invalid" | "forbidden" | "unavailable", Form>> = {
  invalid: { code: 422, reason: "Invalid", says: "is invalid", cause: "FieldValueInvalid" },
  forbidden: { code: 403, reason: "Forbidden", says: "is forbidden", cause: "FieldValueForbidden" },
  /** A retry may succeed in a moment. */
  unavailable: { code: 503, reason: "ServiceUnavailable", says: "cannot be checked now" },
};

export function denialOf(
  { kind, metadata: { name } }: ReviewedObject,
  why: keyof typeof FORMS,
  errors: readonly FieldError[],
): Denial {
  const { says, cause: reason, ...status } = FORMS[why];
  const message = `${kind}.${GROUP} "${name}" ${says}: ${list(errors)}`;
  const causes = (reason === undefined ? [] : errors.slice(0, MAX_ERRORS)).map((error) => ({
    reason,
    message: truncate(printable(error.message), MAX_CAUSE),
    field: printable(error.path),
  }));
  const details = { name, group: GROUP, kind, causes };
  return { ...status, message: truncate(printable(message), MAX_MESSAGE), details };
}

export const TOO_SLOW: Denial = {
  code: 503,
  reason: "ServiceUnavailable",
  message: "the object was not checked in time: try again, and make several of it if that happens each time",
  details: { group: GROUP },
};

/** Nothing is known of the object, which can be a policy or a Cluster: its review was not read, or not answered. */
export const UNANSWERED: Readonly<Partial<Record<UndecodableReason, Denial>>> = {
  "too-large": {
    code: 422,
    reason: "Invalid",
    message:
      "the object is too large to be checked (labels, managed fields and spec together): remove what it does not need",
    details: { group: GROUP },
  },
  "no-room": tooBusy("large objects"),
  internal: {
    code: 503,
    reason: "ServiceUnavailable",
    message: "HookPolicy could not check the object because of an internal error (see the operator's log)",
  },
};

/** The review was not examined. */
export function tooBusy(what = "policies"): Denial {
  const message = `too many ${what} are being checked at the same time: try again in a second`;
  return { code: 429, reason: "TooManyRequests", message, details: { group: GROUP, retryAfterSeconds: 1 } };
}

function list(errors: readonly FieldError[]): string {
  const shown = errors.slice(0, MAX_ERRORS).map((error) => truncate(printable(describe(error)), MAX_CAUSE));
  const more = errors.length - shown.length;
  if (more > 0) shown.push(`and ${more} more`);
  return shown.length === 1 ? shown.join("") : `[${shown.join(", ")}]`;
}

const MAX_WARNINGS = 4000;

/** Makes warnings short enough for the API server to pass on, and printable, because they go into HTTP headers. */
export function joinWarnings(warnings: readonly string[]): string[] {
  const shown: string[] = [];
  let left = MAX_WARNINGS - MAX_WARNING;
  const unique = [...new Set(warnings)];
  for (const [index, raw] of unique.entries()) {
    const warning = truncateText(printable(raw), MAX_WARNING);
    left -= warning.length;
    if (left < 0) return [...shown, `and ${counted(unique.length - index, "more warning")}`];
    shown.push(warning);
  }
  return shown;
}

/** The id of a warning is never truncated. */
export function describe({ path, message, id }: FieldError): string {
  const text = path === "" ? message : `${path}: ${message}`;
  const name = id === undefined ? "" : ` [${id}]`;
  return `${name === "" ? text : truncate(text, MAX_WARNING - name.length)}${name}`;
}
