/** The objects that `hookpolicy init tasks` prints: whose rights the tasks of a namespace have, and that the operator may use them. */

import { InvalidArgumentError } from "commander";
import { DNS_LABEL, DNS_SUBDOMAIN } from "../../lib/dns-names.ts";
import type { TaskAccount } from "../../api/hook-policy.ts";
import { yamlText } from "../terminal/yaml-text.ts";

export interface Grant {
  readonly verbs: readonly string[];
  readonly group: string;
  readonly resource: string;
}

const VERBS = ["get", "list", "create", "patch", "update", "delete"] as const;
const EXAMPLE = "VERB,VERB:RESOURCE.GROUP, such as create,get,delete:jobs.batch, or get:pods";

export function parseGrant(text: string): Grant {
  const [, words = "", resource = "", group = ""] = /^([^:]*):([^.:]+)(?:\.([^:]+))?$/.exec(text) ?? [];
  const verbs = words.split(",");
  const wrong = verbs.find((verb) => VERBS.every((each) => each !== verb));
  if (!DNS_LABEL.test(resource) || (group !== "" && !DNS_SUBDOMAIN.test(group)))
    throw new InvalidArgumentError(`Allowed: ${EXAMPLE}`);
  if (wrong !== undefined) throw new InvalidArgumentError(`Allowed verbs: ${VERBS.join(", ")}`);
  return { verbs: [...new Set(verbs)], group, resource };
}

const RBAC = "rbac.authorization.k8s.io";

/** `operator`: its ServiceAccount. */
export function taskRightsYaml(
  { namespace, name }: TaskAccount,
  grants: readonly Grant[],
  operator: TaskAccount,
): string {
  const account = { kind: "ServiceAccount", name, namespace };
  const impersonation = `${name}-impersonation`;
  const mayImpersonate = [
    { apiGroups: [""], resources: ["serviceaccounts"], verbs: ["impersonate"], resourceNames: [name] },
  ];
  const work = grants.map(({ verbs, group, resource }) => ({
    apiGroups: [group],
    resources: [resource],
    verbs,
  }));
  return [
    documentOf(
      `The tasks of policies in namespace ${namespace} have the rights of this ServiceAccount: spec.serviceAccountName: ${name}`,
      { apiVersion: "v1", kind: "ServiceAccount", metadata: { name, namespace } },
    ),
    documentOf(
      "What a task may do: name all rights in one call, because another one replaces them. The containers of a Job have the ServiceAccount of its Pod instead.",
      role(name, namespace, work),
    ),
    documentOf(undefined, binding(name, namespace, account)),
    documentOf(
      `The operator may act as this ServiceAccount. Delete this Role, and the tasks that name the ServiceAccount can do nothing.`,
      role(impersonation, namespace, mayImpersonate),
    ),
    documentOf(undefined, binding(impersonation, namespace, { kind: "ServiceAccount", ...operator })),
  ].join("---\n");
}

function role(name: string, namespace: string, rules: readonly object[]): object {
  return { apiVersion: `${RBAC}/v1`, kind: "Role", metadata: { name, namespace }, rules };
}

function binding(name: string, namespace: string, subject: object): object {
  return {
    apiVersion: `${RBAC}/v1`,
    kind: "RoleBinding",
    metadata: { name, namespace },
    roleRef: { apiGroup: RBAC, kind: "Role", name },
    subjects: [subject],
  };
}

function documentOf(comment: string | undefined, object: object): string {
  const text = yamlText(object);
  return comment === undefined ? text : `# ${comment}\n${text}`;
}
