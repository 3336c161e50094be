/** The kinds that HookPolicy itself uses: its own and those of Kubernetes. */

import { GROUP, CRD_VERSION } from "../api/hook-policy.ts";
import { fieldsOf } from "../lib/fields.ts";
import { apiResource, type Resource } from "./resource.ts";

const OWN = `${GROUP}/${CRD_VERSION}`;
const ACCESS = "authorization.k8s.io/v1";

const admission = (kind: string, plural = `${kind.toLowerCase()}s`): Resource =>
  apiResource(plural, "admissionregistration.k8s.io/v1", false, kind);

export const POLICY_RESOURCES: Readonly<Record<"HookPolicy" | "ClusterHookPolicy", Resource>> = {
  HookPolicy: apiResource("hookpolicies", OWN, true, "HookPolicy"),
  ClusterHookPolicy: apiResource("clusterhookpolicies", OWN, false, "ClusterHookPolicy"),
};
export const OVERRIDES = apiResource("hookoverrides", OWN, false, "HookOverride");
export const HOOK_TASKS = apiResource("hooktasks", OWN, true, "HookTask");
export const ROLLOUTS = apiResource("hookrollouts", OWN, false, "HookRollout");

export const NAMESPACES = apiResource("namespaces", "v1", false, "Namespace");
export const SERVICE_ACCOUNTS = apiResource("serviceaccounts", "v1", true, "ServiceAccount");
export const SECRETS = apiResource("secrets", "v1", true, "Secret");
export const CONFIG_MAPS = apiResource("configmaps", "v1", true, "ConfigMap");
export const DEPLOYMENTS = apiResource("deployments", "apps/v1", true, "Deployment");
export const DEFINITIONS = apiResource(
  "customresourcedefinitions",
  "apiextensions.k8s.io/v1",
  false,
  "CustomResourceDefinition",
);
export const VALIDATING_WEBHOOKS = admission("ValidatingWebhookConfiguration");
export const ADMISSION_POLICIES = admission("ValidatingAdmissionPolicy", "validatingadmissionpolicies");
export const ADMISSION_BINDINGS = admission("ValidatingAdmissionPolicyBinding");
export const ENDPOINT_SLICES = apiResource("endpointslices", "discovery.k8s.io/v1", true, "EndpointSlice");
export const LEASES = apiResource("leases", "coordination.k8s.io/v1", true, "Lease");
export const TOKEN_REVIEWS = apiResource("tokenreviews", "authentication.k8s.io/v1", false, "TokenReview");
export const SUBJECT_REVIEWS = apiResource("subjectaccessreviews", ACCESS, false, "SubjectAccessReview");
export const SELF_REVIEWS = apiResource("selfsubjectaccessreviews", ACCESS, false, "SelfSubjectAccessReview");

/** Whether the status of one of these reviews allows the access; only an explicit `allowed: true` counts. */
export function isAllowed(status: unknown): boolean {
  return fieldsOf(status)["allowed"] === true;
}

/** The name of the Lease that the leading replica renews. */
export const LEADER_LEASE = "hookpolicy";
