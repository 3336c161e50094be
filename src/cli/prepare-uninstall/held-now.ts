/** What unregistering the operator would release. */

import { fieldsOf } from "../../lib/fields.ts";
import { counted } from "../terminal/counted.ts";
import { namespacedName } from "../../lib/keys.ts";
import type { KubeObject } from "../../kube/resource.ts";
import { type PolicyKind, policyName } from "../../policy/policy-ref.ts";
import { heldBy } from "../get/held.ts";

interface Statuses {
  readonly policies: readonly (KubeObject & { readonly apiVersion: string; readonly kind: PolicyKind })[];
  /** `undefined`: the user may not list them. */
  readonly rollouts: readonly KubeObject[] | undefined;
  /** Of the operator; `undefined`: there is none. */
  readonly deployment: KubeObject | undefined;
}

/**
 * One line for each held operation that a status names, for what it leaves out, and for what is not known: without an
 * operator nothing says what Cluster API waits for. Empty: nothing is held.
 */
export function heldNow({ policies, rollouts, deployment }: Statuses): string[] {
  const { held, omitted } = heldBy(policies.map((policy) => ({ ...policy })));
  const nothingHolds = policies.length === 0 && rollouts?.length === 0;
  return [
    ...held.map(({ policy, row: { namespace, cluster, hook } }) => {
      return `Cluster ${namespace}/${cluster} at ${hook}, by ${policyName(policy)}`;
    }),
    ...omitted.map(({ policy, count }) => `${counted(count, "more operation")} by ${policyName(policy)}`),
    ...(rollouts?.flatMap(waitingFor) ?? ["what HookRollouts hold is not known: you may not list them"]),
    ...(nothingHolds || isRunning(deployment)
      ? []
      : ["what else waits is not known: no replica of the operator is available"]),
  ];
}

function waitingFor({ metadata, spec, status }: KubeObject): string[] {
  const { waiting } = fieldsOf(fieldsOf(status)["summary"]);
  if (fieldsOf(spec)["mode"] === "Audit" || typeof waiting !== "number" || waiting === 0) return [];
  return [`${counted(waiting, "Cluster")} by HookRollout ${namespacedName(metadata)}`];
}

function isRunning(deployment: KubeObject | undefined): boolean {
  const { availableReplicas } = fieldsOf(deployment?.status);
  return typeof availableReplicas === "number" && availableReplicas > 0;
}
