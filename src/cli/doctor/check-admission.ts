/** Checks what refuses requests at admission: the webhook for Clusters, and the ValidatingAdmissionPolicies of HookPolicy. */

import { fieldsOf, listOf, textOf } from "../../lib/fields.ts";
import { clusterKey, viewMetadata } from "../../views/cluster.ts";
import { shellQuote } from "../../lib/shell-quote.ts";
import type { RawObject } from "../fleet/kinds.ts";
import { apiServerTrust } from "./check-certificates.ts";
import { APPLY } from "./check-install.ts";
import { firstNames } from "../../lib/first-names.ts";
import { error, type DoctorInput, type Finding, isAbsent, judged, known, ok, warning } from "./finding.ts";
import { nameOf } from "../fleet/fleet.ts";
import { advice, run } from "../terminal/printed-command.ts";

const INSTALL =
  "set admission.clusters=true in the chart's values, or add the component manifests/cluster-admission";
const UNTIL_THEN = "until then it refuses to create, delete and upgrade every Cluster";

export function admission(examined: DoctorInput): Finding {
  const { clusterWebhook, fleet, policies } = examined;
  if (isAbsent(clusterWebhook)) {
    known(policies);
    const withAdmission = fleet.policies.filter(({ compiled }) =>
      compiled.rules.some((rule) => rule.admission !== undefined),
    );
    if (withAdmission.length === 0) return ok("no rule has admission, and no webhook is installed for it");
    return error(
      `no webhook for Clusters: admission has no effect in ${firstNames(withAdmission.map(nameOf))}`,
      INSTALL,
    );
  }
  const configuration = known(clusterWebhook);
  const webhooks = listOf(configuration["webhooks"]);
  if (webhooks.length === 0) return error("the configuration for Clusters has no webhook", INSTALL);
  const trusted = judged(() =>
    apiServerTrust(configuration, examined, "ValidatingWebhookConfiguration for Clusters"),
  );
  if (trusted.state === "warning") return error(`${trusted.detail}; ${UNTIL_THEN}`, trusted.remedy ?? "");
  const unreachable = unreachableService(configuration, examined);
  if (unreachable !== undefined) return unreachable;
  if (webhooks.some((each) => fieldsOf(each)["failurePolicy"] !== "Fail")) {
    return warning(
      "the failurePolicy of the webhook for Clusters is Ignore: while no replica answers, nothing is refused",
      INSTALL,
    );
  }
  return trusted;
}

/** The Service that the webhook calls; `undefined`: it calls a URL. */
export function serviceOf(
  configuration: RawObject,
): { readonly namespace: string; readonly name: string } | undefined {
  const [webhook] = listOf(configuration["webhooks"]);
  const { namespace, name } = fieldsOf(fieldsOf(fieldsOf(webhook)["clientConfig"])["service"]);
  return typeof namespace === "string" && typeof name === "string" ? { namespace, name } : undefined;
}

/** Endpoints that cannot be read are not reported, because the check "operator" counts the replicas, too. */
function unreachableService(
  webhook: RawObject,
  { clusterEndpoints: read }: DoctorInput,
): Finding | undefined {
  const service = serviceOf(webhook);
  if (service === undefined || !read.ok) return undefined;
  const endpoints = read.value.flatMap((slice) => listOf(slice["endpoints"]).map(fieldsOf));
  if (endpoints.some(({ conditions }) => fieldsOf(conditions)["ready"] !== false)) return undefined;
  const { namespace, name } = service;
  return error(
    `Service ${namespace}/${name}, which the webhook for Clusters calls, has no ready Pod; ${UNTIL_THEN}`,
    advice`${run(`kubectl describe service -n ${namespace} ${name}`)}; ${run(`kubectl get pods -n ${namespace}`)}`,
  );
}

export const FOREGROUND_POLICY = "hookpolicy-refuse-foreground-deletion";
const FOREGROUND = `ValidatingAdmissionPolicy ${FOREGROUND_POLICY}`;
const FOREGROUND_OPT_OUT = "hookpolicy.dev/foreground-deletion";
/** The first version of Kubernetes that serves admissionregistration.k8s.io/v1 ValidatingAdmissionPolicies. */
const SERVED_SINCE = 30;

/** In the foreground, the garbage collector waits for no hook. */
export function foreground(examined: DoctorInput): Finding {
  const { foregroundPolicy: policy, policyBindings, namespaces } = examined;
  if (isAbsent(policy)) return unprotected(`there is no ${FOREGROUND}`, examined);
  known(policy);
  if (!isBound(known(policyBindings), FOREGROUND_POLICY))
    return unprotected(`${FOREGROUND} is not bound with Deny`, examined);
  const exceptions = namespaces.ok
    ? optOutText(optedOut(namespaces.value, FOREGROUND_OPT_OUT), FOREGROUND_OPT_OUT)
    : "; which Namespaces have opted out is unknown";
  return ok(`${FOREGROUND} is bound${exceptions}`);
}

/** The webhook of Clusters refuses a deletion in the foreground, too, while a hook would hold it. */
function unprotected(detail: string, { serverVersion, clusterWebhook }: DoctorInput): Finding {
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
function isBound(bindings: readonly RawObject[], policy: string): boolean {
  return bindings.some(({ spec }) => {
    const { policyName, validationActions, matchResources } = fieldsOf(spec);
    const denies = listOf(validationActions).includes("Deny");
    return textOf(policyName) === policy && denies && matchResources === undefined;
  });
}

function optedOut(namespaces: readonly RawObject[], label: string): string[] {
  return namespaces
    .map(({ metadata }) => viewMetadata(metadata))
    .filter(({ labels }) => labels?.[label] === "allowed")
    .map(({ name }) => name);
}

function optOutText(out: readonly string[], label: string): string {
  return out.length === 0 ? "" : `; Namespaces that opt out by the label ${label}: ${firstNames(out)}`;
}

const MARKS_POLICY = "hookpolicy-protect-marks";
const REFERENCES_OPT_OUT = "hookpolicy.dev/references";

/** A reference to a control plane leads to an object of the Cluster's own namespace (Cluster API's webhook). */
export function references({ policyBindings, namespaces, clusters, fleet }: DoctorInput): Finding {
  if (!isBound(known(policyBindings), MARKS_POLICY))
    return ok(`nothing refuses them: ValidatingAdmissionPolicy ${MARKS_POLICY} is not bound with Deny`);
  const out = optedOut(known(namespaces), REFERENCES_OPT_OUT);
  known(clusters);
  const inDanger = fleet
    .clusters()
    .filter(
      ({ topology, metadata: { namespace = "" } }) => topology !== undefined && out.includes(namespace),
    );
  const [first] = inDanger;
  const named = optOutText(out, REFERENCES_OPT_OUT);
  if (first === undefined) return ok(`ValidatingAdmissionPolicy ${MARKS_POLICY} is bound${named}`);
  const { namespace = "" } = first.metadata;
  return warning(
    `a Cluster without topology can take along the control plane of ${firstNames(inDanger.map(clusterKey))} when it is deleted${named}`,
    advice`keep held Clusters in other namespaces: ${run(`kubectl label namespace ${shellQuote(namespace)} ${REFERENCES_OPT_OUT}-`)}`,
  );
}
