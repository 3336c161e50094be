/** The work that memory has to do later, and what each piece of it is about. */

import type { HookName } from "../api/runtime-hooks.ts";
import type { PendingOperation } from "../operations/operation.ts";
import type { Alarm } from "../turns/alarm.ts";
import { parsePolicyKey } from "./policy-set.ts";

interface OfPolicy {
  /** Its policyKey(). */
  readonly policy: string;
}

interface OfOperation {
  readonly clusterUID: string;
  readonly hook: HookName;
  readonly namespace: string;
}

interface Subjects {
  /** The policy's new spec is being compiled. */
  readonly compile: OfPolicy;
  /** One of the policy's windows opens or closes. */
  readonly windows: OfPolicy;
  /** Objects of the kind, an objectKindKey(), have changed. */
  readonly kind: { readonly kind: string };
  /** Objects of the kind have changed, so the policies of the namespace may say something else. */
  readonly seen: { readonly namespace: string; readonly kind: string };
  /** The policy may say something else about all operations. */
  readonly objects: OfPolicy;
  /** Some Clusters have not been compared with the policy yet. */
  readonly rest: OfPolicy;
  /** Some rows of the policy's status have not been adopted yet. */
  readonly rows: OfPolicy;
  /** A clusterKey(). */
  readonly cluster: { readonly cluster: string };
  readonly operation: OfOperation;
  /** Some policies have not forecast yet when they release the operation. */
  readonly forecast: OfOperation;
  /** Operations of the Cluster that have proceeded have not been recorded yet. */
  readonly passed: { readonly clusterUID: string; readonly namespace: string };
  /** Policies of the namespace that are too large came or went: another one may speak for them. */
  readonly speech: { readonly namespace: string };
  /** The override expires. */
  readonly override: { readonly name: string };
}

type What = keyof Subjects;

/** One piece of work. */
export type Due<W extends What = What> = { [K in W]: { readonly what: K } & Subjects[K] }[W];

/** How each kind of work is done. */
export type Works = { readonly [W in What]: (due: Due<W>) => void };

export function perform<W extends What>(works: Works, due: Due<W>): void {
  works[due.what](due);
}

/** The work for the operation, or for its forecast. */
export function ofOperation<W extends "operation" | "forecast">(
  what: W,
  { clusterUID, namespace, call: { hook } }: PendingOperation,
): { readonly what: W } & OfOperation {
  return { what, clusterUID, hook, namespace };
}

export type Schedule = Alarm<Due>;

/** The same work has the same key. */
export function keyOf(due: Due): string {
  const { what } = due;
  if ("policy" in due) return `${what} ${due.policy}`;
  if ("hook" in due) return `${what} ${due.clusterUID} ${due.hook} ${due.namespace}`;
  switch (due.what) {
    case "kind":
      return `${what} ${due.kind}`;
    case "seen":
      return `${what} ${due.namespace} ${due.kind}`;
    case "cluster":
      return `${what} ${due.cluster}`;
    case "passed":
      return `${what} ${due.clusterUID} ${due.namespace}`;
    case "speech":
      return `${what} ${due.namespace}`;
    case "override":
      return `${what} ${due.name}`;
  }
}

/** The namespace that the work is for, "" for all of them: namespaces take turns. */
export function ownerOf(due: Due): string {
  if ("namespace" in due) return due.namespace;
  if ("policy" in due) return parsePolicyKey(due.policy).namespace ?? "";
  return "cluster" in due ? due.cluster.slice(0, due.cluster.indexOf("/")) : "";
}
