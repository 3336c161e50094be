/** Accounts, roles and bindings as tests write them. */

import type { KubeObject, Metadata } from "./client.ts";
import type { ControlPlane } from "./control-plane.ts";
import { may } from "./may.ts";

const RBAC = "rbac.authorization.k8s.io";

export interface PolicyRule {
  readonly apiGroups: readonly string[];
  readonly resources: readonly string[];
  readonly resourceNames?: readonly string[];
  readonly verbs: readonly string[];
}

/** A rule of a role. */
export function allow(apiGroup: string, resources: string | string[], ...verbs: string[]): PolicyRule {
  return { apiGroups: [apiGroup], resources: [resources].flat(), verbs };
}

/** A RoleBinding; without a namespace, a ClusterRoleBinding. */
export function binding(
  metadata: Metadata,
  roleRef: { readonly kind: "Role" | "ClusterRole"; readonly name: string },
  subject: object,
): KubeObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: metadata.namespace === undefined ? "ClusterRoleBinding" : "RoleBinding",
    metadata,
    roleRef: { apiGroup: RBAC, ...roleRef },
    subjects: [subject],
  };
}

/** A Role that is bound to the subject; without a namespace, a ClusterRole. */
export function grant(metadata: Metadata, rules: readonly PolicyRule[], subject: object): KubeObject[] {
  const kind = metadata.namespace === undefined ? "ClusterRole" : "Role";
  const role = { apiVersion: `${RBAC}/v1`, kind, metadata, rules };
  return [role, binding(metadata, { kind, name: metadata.name }, subject)];
}

/** A ServiceAccount that has these rights by now. Creates the Namespace, too. */
export async function createAccountWith(
  cp: ControlPlane,
  namespace: string,
  name: string,
  {
    inNamespace,
    everywhere,
  }: {
    readonly inNamespace?: readonly PolicyRule[];
    readonly everywhere?: readonly PolicyRule[] | "cluster-admin";
  } = {},
): Promise<void> {
  const subject = { kind: "ServiceAccount", namespace, name };
  const unique = { name: `${namespace}-${name}` };
  await cp.apply([
    { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } },
    { apiVersion: "v1", kind: "ServiceAccount", metadata: { namespace, name } },
    ...(inNamespace === undefined ? [] : grant({ namespace, name }, inNamespace, subject)),
    ...(typeof everywhere === "object" ? grant(unique, everywhere, subject) : []),
    ...(typeof everywhere === "string"
      ? [binding(unique, { kind: "ClusterRole", name: everywhere }, subject)]
      : []),
  ]);
  const user = `system:serviceaccount:${namespace}:${name}`;
  await has(cp, user, inNamespace, { namespace });
  await has(cp, user, typeof everywhere === "string" ? [allow("*", "*", "*")] : everywhere);
}

/** The API server's authorizer needs a moment to learn of roles. */
async function has(
  cp: ControlPlane,
  user: string,
  [rule]: readonly PolicyRule[] = [],
  where: { readonly namespace?: string } = {},
): Promise<void> {
  if (rule === undefined) return;
  const [verb = "", group = "", named = ""] = [rule.verbs[0], rule.apiGroups[0], rule.resources[0]];
  const [resource = "", subresource = ""] = named.split("/");
  const [name = ""] = rule.resourceNames ?? [];
  const question = { verb, resource: `${resource}.${group}`, subresource, name, ...where };
  await cp.waitFor(`${user} to have its rights`, async () => await may(cp, user, question));
}

/** Lets the operator look at a resource for object gates: the label aggregates it. */
export function readGrant(resource: string, apiGroup = ""): KubeObject {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "ClusterRole",
    metadata: { name: `read-${resource}`, labels: { "hookpolicy.dev/aggregate-to-operator": "true" } },
    rules: [allow(apiGroup, resource, "get", "list", "watch")],
  };
}
