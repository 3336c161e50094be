/** The policies of the soak: one of each kind of gate, clock and mode that can keep something in memory. */

import type { GateSpec, RuleSpec } from "../../src/api/hookpolicy.ts";
import type { KubeObject, Ref } from "../../test/controlplane/client.ts";
import { clusterPolicyRef, inSeconds, policyRef } from "../../test/controlplane/policies.ts";

/** What all of them wait for: the driver then knows when a go is right. */
export const MAY_CREATE = "soak.example.com/may-create";
export const MAY_DELETE = "soak.example.com/may-delete";

const OVERRIDE_SECONDS = 20;

/** In each namespace. */
export function namespacedPolicies(namespace: string): KubeObject[] {
  const create: RuleSpec = {
    name: "create",
    hooks: ["BeforeClusterCreate"],
    until: [{ name: "approved", annotation: { key: MAY_CREATE } }],
  };
  const named = { name: "named", expression: "cluster.metadata.name.startsWith('soak-')" };
  const ofUid = { key: MAY_DELETE, valueFrom: "ClusterUID" } as const;
  const computed = { name: "approved", expression: `'${MAY_DELETE}' in cluster.metadata.annotations` };
  const everyOther = { timeZone: "UTC", allow: [{ schedule: "*/2 * * * *", duration: "1m" }] };
  const objectOf = (name: string, spec: object): KubeObject => toObject(policyRef(namespace, name), spec);
  return [
    objectOf("approved", { rules: [create, deletion([{ name: "approved", annotation: ofUid }])] }),
    objectOf("computed", { rules: [{ ...deletion([computed]), matchConditions: [named] }] }),
    // Audit: a Cluster that is approved need not wait for the window, too.
    objectOf("minutes", { mode: "Audit", rules: [deletion([{ name: "even", window: everyOther }])] }),
  ];
}

export function waitingPolicy(): KubeObject {
  const rule: RuleSpec = {
    ...deletion([APPROVED, { name: "thought-over", wait: { duration: "5s" } }]),
    deadline: { after: "24h", onExpiry: "KeepBlocking" },
  };
  return toObject(clusterPolicyRef("waited"), { namespaceSelector: {}, rules: [rule] });
}

/** Comes and goes, with its finalizer. */
export function passingPolicy(ref: Ref): KubeObject {
  return toObject(ref, { rules: [deletion([APPROVED])] });
}

export function overrideRef(name: string): Ref {
  return { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookOverride", name };
}

/** Of a policy that holds nothing, so that it releases nothing that must stay. */
export function passingOverride(ref: Ref, { namespace = "", name }: Ref): KubeObject {
  return toObject(ref, {
    clusterRef: { namespace, name },
    hooks: ["BeforeClusterDelete"],
    policyRefs: [{ kind: "HookPolicy", namespace, name: "minutes" }],
    reason: "soak",
    expiresAt: inSeconds(OVERRIDE_SECONDS),
  });
}

const APPROVED: GateSpec = { name: "approved", annotation: { key: MAY_DELETE } };

function deletion(until: readonly GateSpec[]): RuleSpec {
  return { name: "delete", hooks: ["BeforeClusterDelete"], until: [...until] };
}

function toObject({ apiVersion, kind, ...metadata }: Ref, spec: object): KubeObject {
  return { apiVersion, kind, metadata, spec };
}
