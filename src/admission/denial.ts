/** Refusals in the form of the API server's own (metav1.Status), so that clients print them in the same way. */

import { GROUP } from "../api/hook-policy.ts";
import { printable } from "../lib/printable.ts";
import { truncate } from "../policy/message.ts";
import type { FieldError, Kind } from "../policy/validation/schema.ts";
import { describe } from "./review-text.ts";

/** The subject of a review, as far as refusals name it. */
export interface Subject {
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
  readonly reason: "FieldValueInvalid" | "FieldValueForbidden";
  readonly message: string;
  readonly field: string;
}

const MAX_CAUSES = 32;
const MAX_CAUSE = 1024;
const MAX_MESSAGE = 8192;

export function invalid(object: Subject, errors: readonly FieldError[]): Denial {
  const message = `${nameOf(object)} is invalid: ${list(errors)}`;
  return denial(object, { code: 422, reason: "Invalid", message }, causes("FieldValueInvalid", errors));
}

/** Nothing is known of the object, because its review was not read. */
export function unread(): Denial {
  const message =
    "the object is too large to be checked (labels, managed fields and spec together): remove what it does not need";
  return { code: 422, reason: "Invalid", message, details: { group: GROUP } };
}

export function forbidden(object: Subject, errors: readonly FieldError[]): Denial {
  const message = `${nameOf(object)} is forbidden: ${list(errors)}`;
  return denial(object, { code: 403, reason: "Forbidden", message }, causes("FieldValueForbidden", errors));
}

/** A retry may succeed in a moment. */
export function unavailable(object: Subject, errors: readonly FieldError[]): Denial {
  const message = `${nameOf(object)} cannot be checked now: ${list(errors)}`;
  return denial(object, { code: 503, reason: "ServiceUnavailable", message }, []);
}

/** The review was not examined. */
export function tooBusy(what = "policies"): Denial {
  const message = `too many ${what} are being checked at the same time: try again in a second`;
  return { code: 429, reason: "TooManyRequests", message, details: { group: GROUP, retryAfterSeconds: 1 } };
}

export function tooSlow(): Denial {
  const message =
    "the policy was not checked in time: try again, and make several of it if that happens each time";
  return { code: 503, reason: "ServiceUnavailable", message, details: { group: GROUP } };
}

function denial(
  { kind, metadata: { name } }: Subject,
  status: Pick<Denial, "code" | "reason" | "message">,
  all: readonly Cause[],
): Denial {
  return {
    ...status,
    message: truncate(printable(status.message), MAX_MESSAGE),
    details: { name, group: GROUP, kind, causes: all.slice(0, MAX_CAUSES) },
  };
}

function nameOf({ kind, metadata: { name } }: Subject): string {
  return `${kind}.${GROUP} "${name}"`;
}

function list(errors: readonly FieldError[]): string {
  const shown = errors.slice(0, MAX_CAUSES).map((error) => truncate(printable(describe(error)), MAX_CAUSE));
  const more = errors.length - shown.length;
  if (more > 0) shown.push(`and ${more} more`);
  return shown.length === 1 ? shown.join("") : `[${shown.join(", ")}]`;
}

function causes(reason: Cause["reason"], errors: readonly FieldError[]): Cause[] {
  return errors.map(({ path, message }) => ({
    reason,
    message: truncate(printable(message), MAX_CAUSE),
    field: printable(path),
  }));
}
