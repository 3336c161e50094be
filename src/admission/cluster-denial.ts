/** Why a request about a Cluster is refused, in the form of the API server's own refusals. */

import { CLUSTER_API_GROUP } from "../api/meta.ts";
import { firstNames } from "../lib/first-names.ts";
import { printable } from "../lib/printable.ts";
import type { RequestedOperation } from "../operations/requested-operation.ts";
import type { Decision } from "../policy/decision.ts";
import { truncate } from "../lib/truncate.ts";
import { targetVersion } from "../api/target-version.ts";
import { type Denial, MAX_MESSAGE } from "./denial.ts";

/** Cluster API's condition has the same message while the hook holds the Cluster. */
export function refusedBy(requested: RequestedOperation, { message }: Decision): Denial {
  const text = `${subject(requested)} yet: ${message}${hintFor(requested)}`;
  return denial(requested, { code: 403, reason: "Forbidden" }, text);
}

function hintFor({ call, cascade }: RequestedOperation): string {
  if (cascade === "Orphan")
    return "; the garbage collector would take what it owns from it while the hook holds it: use --cascade=background, which deletes all of it (Argo CD: sync option PrunePropagationPolicy=background)";
  if (cascade === "Foreground")
    return "; the garbage collector would delete what it owns while the hook holds it: use --cascade=background (Argo CD: sync option PrunePropagationPolicy=background)";
  const isNew = call.hook === "BeforeClusterCreate";
  return isNew ? "; the Cluster does not exist yet, so set what it lacks in the object that you apply" : "";
}

const WITHOUT = {
  NotLoaded:
    "HookPolicy is still loading policies and refuses every request until it has finished: try again",
  NotConfirmed: "HookPolicy could not confirm its decision with the API server",
  TooManyVersions:
    "it changes the versions of too many workers in different ways: pin fewer of them in one request",
  TooManyCalls:
    "too many requests about this Cluster wait for a decision of HookPolicy: try again in a second",
  InternalError: "HookPolicy could not decide because of an internal error (see the operator's log)",
} as const;

const STATUS: Readonly<Partial<Record<keyof typeof WITHOUT, Pick<Denial, "code" | "reason">>>> = {
  TooManyVersions: { code: 403, reason: "Forbidden" },
  TooManyCalls: { code: 429, reason: "TooManyRequests" },
};

/** Without a decision the request is refused. */
export function undecidedRequest(
  requested: RequestedOperation,
  why: keyof typeof WITHOUT,
  reason?: string,
): Denial {
  const isBusy = why === "TooManyCalls";
  const status = STATUS[why] ?? { code: 503, reason: "ServiceUnavailable" };
  const detail = reason === undefined ? "" : ` (${reason}): try again`;
  const message = `${subject(requested)} now: ${WITHOUT[why]}${detail}`;
  return denial(requested, status, message, isBusy ? { retryAfterSeconds: 1 } : {});
}

function subject({ call, cascade, workers, cluster: { metadata } }: RequestedOperation): string {
  const name = `Cluster ${metadata.namespace}/${metadata.name}`;
  const version = targetVersion(call) ?? "this version";
  if (workers !== undefined)
    return `workers ${firstNames(workers)} of ${name} cannot be upgraded to ${version}`;
  if (cascade === "Orphan") return `${name} cannot be deleted so that it orphans what it owns`;
  if (cascade === "Foreground") return `${name} cannot be deleted in the foreground`;
  if (call.hook === "BeforeClusterDelete") return `${name} cannot be deleted`;
  if (call.hook === "BeforeClusterCreate") return `${name} cannot be created`;
  return `${name} cannot be upgraded to ${version}`;
}

function denial(
  { cluster: { metadata } }: RequestedOperation,
  status: Pick<Denial, "code" | "reason">,
  message: string,
  retry: { readonly retryAfterSeconds?: number } = {},
): Denial {
  const details = { name: metadata.name, group: CLUSTER_API_GROUP, kind: "clusters", ...retry };
  return { ...status, message: truncate(printable(message), MAX_MESSAGE), details };
}
