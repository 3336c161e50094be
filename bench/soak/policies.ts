/** The policies of the soak: each kind of gate, clock and mode that can keep something in memory. */

import type { GateSpec, RuleSpec } from "../../src/api/hook-policy.ts";
import type { Ref } from "../../test/controlplane/client.ts";
import type { ControlPlane } from "../../test/controlplane/control-plane.ts";
import {
  approvalRule,
  clusterPolicyRef,
  inSeconds,
  policyRef,
  storePolicy,
} from "../../test/controlplane/policies.ts";

/** The annotations that all of them wait for: so the driver knows when a release is right. */
export const MAY_CREATE = "soak.example.com/may-create";
export const MAY_DELETE = "soak.example.com/may-delete";

const OVERRIDE_SECONDS = 20;

export async function storeAll(cp: ControlPlane, namespaces: readonly string[]): Promise<void> {
  for (const namespace of namespaces) {
    for (const [name, spec] of Object.entries(NAMESPACED))
      await storePolicy(cp, policyRef(namespace, name), spec);
  }
  await storePolicy(cp, clusterPolicyRef("waited"), { namespaceSelector: {}, rules: [WAITED] });
}

export function overrideRef(name: string): Ref {
  return { apiVersion: "hookpolicy.dev/v1alpha1", kind: "HookOverride", name };
}

/** An override of a policy that holds nothing, so that it releases no Cluster that must stay held. */
export function passingOverride({ namespace = "", name }: Ref, pace: number): object {
  return {
    clusterRef: { namespace, name },
    hooks: ["BeforeClusterDelete"],
    policyRefs: [{ kind: "HookPolicy", namespace, name: "minutes" }],
    reason: "soak",
    expiresAt: inSeconds(OVERRIDE_SECONDS / pace),
  };
}

function deletion(...until: readonly GateSpec[]): RuleSpec {
  return { name: "delete", hooks: ["BeforeClusterDelete"], until: [...until] };
}

const APPROVED: GateSpec = { name: "approved", annotation: { key: MAY_DELETE } };
const NAMED = { name: "named", expression: "cluster.metadata.name.startsWith('soak-')" };
const EVERY_OTHER = { timeZone: "UTC", allow: [{ schedule: "*/2 * * * *", duration: "1m" }] };
const OF_UID: GateSpec = { name: "approved", annotation: { key: MAY_DELETE, valueFrom: "ClusterUID" } };
const COMPUTED = { name: "approved", expression: `'${MAY_DELETE}' in cluster.metadata.annotations` };

const NAMESPACED = {
  approved: { rules: [approvalRule("BeforeClusterCreate", MAY_CREATE), deletion(OF_UID)] },
  computed: { rules: [{ ...deletion(COMPUTED), matchConditions: [NAMED] }] },
  // In mode Audit, so that an approved Cluster need not wait for the window, too.
  minutes: { mode: "Audit", rules: [deletion({ name: "even", window: EVERY_OTHER })] },
};

const WAITED: RuleSpec = {
  ...deletion(APPROVED, { name: "thought-over", wait: { duration: "5s" } }),
  deadline: { after: "24h", onExpiry: "KeepBlocking" },
};

/** The spec of policies that are created and deleted again, with their finalizer. */
export const PASSING = { rules: [deletion(APPROVED)] };
