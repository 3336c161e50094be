/** Why the objects that a gate names are unknown, for users: the same on every replica, without observed values. */

import { GROUP } from "../api/hook-policy.ts";
import { isForbidden, isNotFound, KubeError } from "../kube/kube-error.ts";
import { KIND_NOT_WATCHABLE, KIND_TERMINATING } from "../kube/api-discovery.ts";
import { type Resource, resourceName } from "../kube/resource.ts";
import { describeTooLarge, TOO_LARGE } from "../views/too-large.ts";
import { type FoundObjects, type ObjectKind, OBJECTS_NOT_LOADED } from "../policy/objects.ts";

export type Refusal = Extract<FoundObjects, { readonly ok: false }>;

export function isSecret({ apiVersion, kind }: ObjectKind): boolean {
  return kind === "Secret" && !apiVersion.includes("/");
}

export const SECRETS_REFUSED: Refusal = {
  ok: false,
  reason: "SecretsRefused",
  message: "the operator never reads Secrets: name another kind in the gate",
};

export function notLoaded({ apiVersion, kind }: ObjectKind): Refusal {
  const message = `the objects of kind ${kind} in ${apiVersion} have not been read yet`;
  return { ok: false, reason: OBJECTS_NOT_LOADED, message };
}

export function tooManyKinds(kind: ObjectKind, limit: number): Refusal {
  const message = `${notWatched(kind)}: policies name more than ${limit} kinds of objects`;
  return { ok: false, reason: "TooManyKinds", message };
}

function notWatched({ apiVersion, kind }: ObjectKind): string {
  return `kind ${kind} in ${apiVersion} is not watched`;
}

export function tooLarge({ kind }: ObjectKind, namespace: string | undefined): Refusal {
  return { ok: false, reason: TOO_LARGE, message: `${describeTooLarge(namespace)} (kind ${kind})` };
}

/** `asked`: what was to be read, unless the kind was not found. `undefined` for a temporary error, such as a loss of contact. */
export function refusalOf(
  { apiVersion, kind }: ObjectKind,
  error: unknown,
  asked?: Resource,
): Refusal | undefined {
  const reason = error instanceof KubeError ? error.reason : "";
  if (reason === KIND_TERMINATING) {
    const message = `kind ${kind} in ${apiVersion} is being removed from the API server`;
    return { ok: false, reason: "ObjectKindTerminating", message };
  }
  if (reason === KIND_NOT_WATCHABLE) {
    const message = `the API server cannot list and watch kind ${kind} in ${apiVersion}: name another kind in the gate`;
    return { ok: false, reason: "ObjectsNotWatchable", message };
  }
  if (isNotFound(error)) {
    const message = `the API server serves no kind ${kind} in ${apiVersion}: install it, or correct the gate`;
    return { ok: false, reason: "ObjectKindUnknown", message };
  }
  if (!isForbidden(error)) return undefined;
  const message =
    asked === undefined
      ? `the operator may not discover kind ${kind} in ${apiVersion}: bind it to the ClusterRole system:discovery`
      : mayNot(asked);
  return { ok: false, reason: "ObjectsForbidden", message };
}

function mayNot(resource: Resource): string {
  return (
    `the operator may not read ${resourceName(resource)}: bind the verbs get, list and watch in a ` +
    `ClusterRole labelled ${GROUP}/aggregate-to-operator: "true"`
  );
}

/** The command of an administrator that lets the operator read these kinds, each as resourceName(). */
export function grantCommand([first = "", ...others]: readonly string[]): string {
  const role = `hookpolicy-${first}`;
  const resources = [first, ...others].join(",");
  return `kubectl create clusterrole ${role} --verb=get,list,watch --resource=${resources} && kubectl label clusterrole ${role} ${GROUP}/aggregate-to-operator=true`;
}

const MAY_NOT = /^the operator may not read ([a-z0-9.-]+): /;

/** The kind that the operator may not read, as it says itself: its name in RBAC. */
export function forbiddenKind(message: string): string | undefined {
  return MAY_NOT.exec(message)?.[1];
}

/** Whether the reason in a status is that the operator cannot read these objects; others may. */
export function isAbout(message: string, kind: ObjectKind, resource: Resource): boolean {
  const reasons = [mayNot(resource), notWatched(kind), notLoaded(kind).message];
  return reasons.some((reason) => message.startsWith(reason));
}
