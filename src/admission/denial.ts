/** Refusals in the words and shape of the API server's own (metav1.Status), so that clients print them alike. */

import { GROUP } from "../api/hookpolicy.ts";
import { truncate } from "../policy/message.ts";
import type { FieldError } from "../policy/schema.ts";
import type { Review } from "./review.ts";
import { describe, oneLine } from "./text.ts";

export interface Denial {
  readonly code: number;
  readonly reason: "Invalid" | "Forbidden" | "ServiceUnavailable" | "BadRequest";
  readonly message: string;
  readonly details?: {
    readonly name: string;
    readonly group: string;
    readonly kind: string;
    readonly causes: readonly Cause[];
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

export function invalid(object: Review["object"], errors: readonly FieldError[]): Denial {
  const message = `${nameOf(object)} is invalid: ${list(errors)}`;
  return denial(object, { code: 422, reason: "Invalid", message }, causes("FieldValueInvalid", errors));
}

export function tooLarge(object: Review["object"]): Denial {
  return invalid(object, [{ path: "spec", message: "too large to be checked: make several of it" }]);
}

export function forbidden(object: Review["object"], errors: readonly FieldError[]): Denial {
  const message = `${nameOf(object)} is forbidden: ${list(errors)}`;
  return denial(object, { code: 403, reason: "Forbidden", message }, causes("FieldValueForbidden", errors));
}

/** It may go well in a moment. */
export function unavailable(object: Review["object"], errors: readonly FieldError[]): Denial {
  const message = `${nameOf(object)} cannot be checked now: ${list(errors)}`;
  return denial(object, { code: 503, reason: "ServiceUnavailable", message }, []);
}

function denial(
  { kind, metadata: { name } }: Review["object"],
  status: Pick<Denial, "code" | "reason" | "message">,
  all: readonly Cause[],
): Denial {
  return {
    ...status,
    message: truncate(status.message, MAX_MESSAGE),
    details: { name, group: GROUP, kind, causes: all.slice(0, MAX_CAUSES) },
  };
}

function nameOf({ kind, metadata: { name } }: Review["object"]): string {
  return `${kind}.${GROUP} "${name}"`;
}

function list(errors: readonly FieldError[]): string {
  const shown = errors.slice(0, MAX_CAUSES).map((error) => truncate(oneLine(describe(error)), MAX_CAUSE));
  const more = errors.length - shown.length;
  if (more > 0) shown.push(`and ${more} more`);
  return shown.length === 1 ? shown.join("") : `[${shown.join(", ")}]`;
}

function causes(reason: Cause["reason"], errors: readonly FieldError[]): Cause[] {
  return errors.map(({ path, message }) => ({
    reason,
    message: truncate(oneLine(message), MAX_CAUSE),
    field: path,
  }));
}
