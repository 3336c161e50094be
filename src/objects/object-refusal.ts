/** Why the objects that a gate names are unknown, for users: the same on every replica, without observed values. */

import { GROUP } from "../api/hook-policy.ts";
import type { CommandLine } from "../lib/shell-quote.ts";
import { isForbidden, isNotFound, KubeError } from "../kube/kube-error.ts";
import { KIND_NOT_WATCHABLE, KIND_TERMINATING } from "../kube/api-discovery.ts";
import { type Resource, resourceName } from "../kube/resource.ts";
import { describeTooLarge, TOO_LARGE } from "../views/too-large.ts";
import { type FoundObjects, type ObjectKind, OBJECTS_NOT_LOADED } from "../policy/watched-objects.ts";

export type Refusal = Extract<FoundObjects, { readonly ok: false }>;

export function isSecret({ apiVersion, kind }: ObjectKind): boolean {
  return kind === "Secret" && !apiVersion.includes("/");
}

function refused(reason: string, message: string): Refusal {
  return { ok: false, reason, message };
}

export const SECRETS_REFUSED = refused(
  "SecretsRefused",
  "the operator never reads Secrets: name another kind in the gate",
);

export function notLoaded(kind: ObjectKind): Refusal {
  return refused(OBJECTS_NOT_LOADED, `the objects of ${kindText(kind)} have not been read yet`);
}

export function tooManyKinds(kind: ObjectKind, limit: number): Refusal {
  return refused("TooManyKinds", `${notWatched(kind)}: policies name more than ${limit} kinds of objects`);
}

function notWatched(kind: ObjectKind): string {
  return `${kindText(kind)} is not watched`;
}

function kindText({ apiVersion, kind }: ObjectKind): string {
  return `kind ${kind} in ${apiVersion}`;
}

export function tooLarge({ kind }: ObjectKind, namespace: string | undefined): Refusal {
  return refused(TOO_LARGE, `${describeTooLarge(namespace)} (kind ${kind})`);
}

/** `asked`: what was to be read, unless the kind was not found. `undefined` for a temporary error, such as a loss of contact. */
export function refusalOf(kind: ObjectKind, error: unknown, asked?: Resource): Refusal | undefined {
  const what = kindText(kind);
  const reason = error instanceof KubeError ? error.reason : "";
  if (reason === KIND_TERMINATING)
    return refused("ObjectKindTerminating", `${what} is being removed from the API server`);
  if (reason === KIND_NOT_WATCHABLE)
    return refused(
      "ObjectsNotWatchable",
      `the API server cannot list and watch ${what}: name another kind in the gate`,
    );
  if (isNotFound(error))
    return refused("ObjectKindUnknown", `the API server serves no ${what}: install it, or correct the gate`);
  if (!isForbidden(error)) return undefined;
  const mayNotDiscover = `the operator may not discover ${what}: bind it to the ClusterRole system:discovery`;
  return refused("ObjectsForbidden", asked === undefined ? mayNotDiscover : mayNot(asked));
}

function mayNot(resource: Resource): string {
  return (
    `the operator may not read ${resourceName(resource)}: bind the verbs get, list and watch in a ` +
    `ClusterRole labelled ${GROUP}/aggregate-to-operator: "true"`
  );
}

/** The commands of an administrator that let the operator read these kinds, each as resourceName(). */
export function grantCommand([first = "", ...others]: readonly string[]): CommandLine {
  const role = `hookpolicy-${first}`;
  const resources = [first, ...others].join(",");
  return [
    `kubectl create clusterrole ${role} --verb=get,list,watch --resource=${resources}`,
    `kubectl label clusterrole ${role} ${GROUP}/aggregate-to-operator=true`,
  ];
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
