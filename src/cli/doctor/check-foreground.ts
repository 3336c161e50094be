/** Checks whether the API server refuses to delete Clusters in the foreground, where the garbage collector waits for no hook. */

import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import { viewMetadata } from "../../policy/cluster.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { APPLY } from "./check-install.ts";
import { error, type Evidence, type Finding, ok, some, unread, warning } from "./doctor.ts";

export const FOREGROUND_POLICY = "hookpolicy-refuse-foreground-deletion";
const OPT_OUT = "hookpolicy.dev/foreground-deletion";

const NAMED = `ValidatingAdmissionPolicy ${FOREGROUND_POLICY}`;
/** The first version of Kubernetes that serves admissionregistration.k8s.io/v1 ValidatingAdmissionPolicies. */
const SERVED_SINCE = 30;

export function foreground(evidence: Evidence): Finding {
  const { foregroundPolicy: policy, policyBindings: bindings } = evidence;
  if (!policy.ok) {
    return policy.why === "NotFound" ? unprotected(`there is no ${NAMED}`, evidence) : unread(policy);
  }
  if (!bindings.ok) return unread(bindings);
  if (!isBound(bindings.value, FOREGROUND_POLICY))
    return unprotected(`${NAMED} is not bound with Deny`, evidence);
  return ok(`${NAMED} is bound${exceptions(evidence)}`);
}

/** The webhook of Clusters refuses a deletion in the foreground, too, while a hook would hold it. */
function unprotected(detail: string, { serverVersion, clusterWebhook }: Evidence): Finding {
  const minor = Number(/^v1\.(\d+)/.exec(serverVersion)?.[1] ?? SERVED_SINCE);
  const remedy =
    minor < SERVED_SINCE
      ? "Kubernetes serves them since 1.30: until then install the webhook for Clusters (admission.clusters, or manifests/cluster-admission)"
      : APPLY;
  if (clusterWebhook.ok)
    return warning(`${detail}; the webhook for Clusters refuses while it is asked`, remedy);
  return error(`${detail}: kubectl delete --cascade=foreground destroys a Cluster that is held`, remedy);
}

/** Whether the policy refuses everywhere, by one of these bindings. */
export function isBound(bindings: readonly RawObject[], policy: string): boolean {
  return bindings.some(({ spec }) => {
    const { policyName, validationActions, matchResources } = fieldsOf(spec);
    const denies = listOf(validationActions).includes("Deny");
    return textOf(policyName) === policy && denies && matchResources === undefined;
  });
}

function exceptions({ namespaces }: Evidence): string {
  if (!namespaces.ok) return "; which Namespaces have opted out is unknown";
  const out = optedOut(namespaces.value, OPT_OUT);
  return out.length === 0 ? "" : `; Namespaces that opt out by the label ${OPT_OUT}: ${some(out)}`;
}

/** The names of the Namespaces with this label and the value "allowed". */
export function optedOut(namespaces: readonly RawObject[], label: string): string[] {
  return namespaces
    .map(({ metadata }) => viewMetadata(metadata))
    .filter(({ labels }) => labels?.[label] === "allowed")
    .map(({ name }) => name);
}
