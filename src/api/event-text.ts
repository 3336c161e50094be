/** A Kubernetes Event (events.k8s.io/v1) as text, before it is written. */

import { GROUP, CRD_VERSION } from "./hook-policy.ts";
import { CLUSTER_API_GROUP } from "./meta.ts";

export interface ObjectReference {
  readonly apiVersion: string;
  readonly kind: string;
  readonly namespace?: string;
  readonly name: string;
  readonly uid: string;
}

export interface EventText {
  /** The same on every replica, so that each transition is one Event. */
  readonly identity: string;
  readonly type: "Normal" | "Warning";
  readonly reason: string;
  readonly action: string;
  readonly note: string;
  /** Returns the note of the same Event about the policy (`related`): it names the Cluster, and not what the gates wait for. */
  readonly policyNote?: () => string;
  readonly regarding: ObjectReference;
  readonly related?: ObjectReference;
  /** How many Events this one represents. */
  readonly series?: { readonly count: number; readonly lastObservedTime: Date };
}

export function clusterReference(namespace: string, name: string, uid: string): ObjectReference {
  return { apiVersion: `${CLUSTER_API_GROUP}/v1beta2`, kind: "Cluster", namespace, name, uid };
}

/** A reference to an object of HookPolicy's own group. */
export function ownReference(
  named: Pick<ObjectReference, "kind" | "namespace" | "name">,
  uid: string,
): ObjectReference {
  return { apiVersion: `${GROUP}/${CRD_VERSION}`, ...named, uid };
}
