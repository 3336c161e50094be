/** The kinds that HookPolicy itself uses: its own and those of Kubernetes. */

import {
  CLUSTER_HOOK_POLICIES,
  GROUP,
  HOOK_OVERRIDES,
  HOOK_POLICIES,
  HOOK_ROLLOUTS,
  VERSION,
} from "../api/hookpolicy.ts";
import type { Resource } from "./resource.ts";

export const POLICY_RESOURCES: Readonly<Record<"HookPolicy" | "ClusterHookPolicy", Resource>> = {
  HookPolicy: { group: GROUP, version: VERSION, plural: HOOK_POLICIES, kind: "HookPolicy", namespaced: true },
  ClusterHookPolicy: {
    group: GROUP,
    version: VERSION,
    plural: CLUSTER_HOOK_POLICIES,
    kind: "ClusterHookPolicy",
    namespaced: false,
  },
};

export const OVERRIDES: Resource = {
  group: GROUP,
  version: VERSION,
  plural: HOOK_OVERRIDES,
  kind: "HookOverride",
  namespaced: false,
};

export const ROLLOUTS: Resource = {
  group: GROUP,
  version: VERSION,
  plural: HOOK_ROLLOUTS,
  kind: "HookRollout",
  namespaced: false,
};

export const NAMESPACES: Resource = {
  group: "",
  version: "v1",
  plural: "namespaces",
  kind: "Namespace",
  namespaced: false,
};

export const SECRETS: Resource = {
  group: "",
  version: "v1",
  plural: "secrets",
  kind: "Secret",
  namespaced: true,
};

export const DEPLOYMENTS: Resource = {
  group: "apps",
  version: "v1",
  plural: "deployments",
  kind: "Deployment",
  namespaced: true,
};

export const VALIDATING_WEBHOOKS: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "validatingwebhookconfigurations",
  kind: "ValidatingWebhookConfiguration",
  namespaced: false,
};

export const MUTATING_WEBHOOKS: Resource = {
  group: "admissionregistration.k8s.io",
  version: "v1",
  plural: "mutatingwebhookconfigurations",
  kind: "MutatingWebhookConfiguration",
  namespaced: false,
};

export const ENDPOINT_SLICES: Resource = {
  group: "discovery.k8s.io",
  version: "v1",
  plural: "endpointslices",
  kind: "EndpointSlice",
  namespaced: true,
};

export const DEFINITIONS: Resource = {
  group: "apiextensions.k8s.io",
  version: "v1",
  plural: "customresourcedefinitions",
  kind: "CustomResourceDefinition",
  namespaced: false,
};

export const TOKEN_REVIEWS: Resource = {
  group: "authentication.k8s.io",
  version: "v1",
  plural: "tokenreviews",
  kind: "TokenReview",
  namespaced: false,
};

export const SUBJECT_REVIEWS: Resource = {
  group: "authorization.k8s.io",
  version: "v1",
  plural: "subjectaccessreviews",
  kind: "SubjectAccessReview",
  namespaced: false,
};

export const LEASES: Resource = {
  group: "coordination.k8s.io",
  version: "v1",
  plural: "leases",
  kind: "Lease",
  namespaced: true,
};

/** The name of the Lease that the leading replica renews. */
export const LEADER_LEASE = "hookpolicy";
