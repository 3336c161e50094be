/** What RBAC allows, by the API server's own authorizer. */

import type { ControlPlane } from "./control-plane.ts";

export interface Question {
  readonly verb: string;
  /** "hookpolicies.hookpolicy.dev", or "pods" of the core group. */
  readonly resource: string;
  readonly subresource?: string;
  readonly name?: string;
  /** Absent: all of them, or the object is cluster-scoped. */
  readonly namespace?: string;
}

/** The grants to a user's groups count for a ServiceAccount ("system:serviceaccount:namespace:name"), too. */
export async function may(cp: ControlPlane, user: string, { resource, ...more }: Question): Promise<boolean> {
  const apiVersion = "authorization.k8s.io/v1";
  const [plural, group = ""] = resource.split(/\.(.*)/);
  const groups = ["system:authenticated", ...groupsOfAccount(user)];
  const spec = { user, groups, resourceAttributes: { group, resource: plural, ...more } };
  const review = JSON.stringify({ apiVersion, kind: "SubjectAccessReview", spec });
  const path = `/apis/${apiVersion}/subjectaccessreviews`;
  const { status } = await cp.request<{ status: { allowed: boolean } }>("POST", path, review);
  return status.allowed;
}

function groupsOfAccount(user: string): string[] {
  const [, namespace] = /^system:serviceaccount:([^:]+):/.exec(user) ?? [];
  return namespace === undefined ? [] : ["system:serviceaccounts", `system:serviceaccounts:${namespace}`];
}
