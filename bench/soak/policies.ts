/** The policies of the soak: one of each kind of gate, clock and mode that can keep something in memory. */

import type { KubeObject } from "../../test/controlplane/client.ts";

/** What all of them wait for: the driver then knows when a go is right. */
export const MAY_CREATE = "soak.example.com/may-create";
export const MAY_DELETE = "soak.example.com/may-delete";

const API_VERSION = "hookpolicy.dev/v1alpha1";

/** In each namespace. */
export function namespacedPolicies(namespace: string): KubeObject[] {
  return [
    hookPolicy(namespace, "approved", {
      rules: [
        {
          name: "create",
          hooks: ["BeforeClusterCreate"],
          until: [{ name: "approved", annotation: { key: MAY_CREATE } }],
        },
        {
          name: "delete",
          hooks: ["BeforeClusterDelete"],
          until: [{ name: "approved", annotation: { key: MAY_DELETE, valueFrom: "ClusterUID" } }],
        },
      ],
    }),
    hookPolicy(namespace, "computed", {
      rules: [
        {
          name: "delete",
          hooks: ["BeforeClusterDelete"],
          matchConditions: [{ name: "named", expression: "cluster.metadata.name.startsWith('soak-')" }],
          until: [{ name: "approved", expression: `'${MAY_DELETE}' in cluster.metadata.annotations` }],
        },
      ],
    }),
    hookPolicy(namespace, "minutes", {
      mode: "Audit", // a Cluster that is approved need not wait for the window, too
      rules: [
        {
          name: "delete",
          hooks: ["BeforeClusterDelete"],
          until: [
            {
              name: "even",
              window: { timeZone: "UTC", allow: [{ schedule: "*/2 * * * *", duration: "1m" }] },
            },
          ],
        },
      ],
    }),
  ];
}

export function waitingPolicy(): KubeObject {
  const rule = {
    name: "delete",
    hooks: ["BeforeClusterDelete"],
    until: [
      { name: "approved", annotation: { key: MAY_DELETE } },
      { name: "thought-over", wait: { duration: "5s" } },
    ],
    deadline: { after: "24h", onExpiry: "KeepBlocking" },
  };
  return {
    apiVersion: API_VERSION,
    kind: "ClusterHookPolicy",
    metadata: { name: "waited" },
    spec: { namespaceSelector: {}, rules: [rule] },
  };
}

/** Comes and goes, with its finalizer. */
export function passingPolicy(namespace: string, name: string): KubeObject {
  return hookPolicy(namespace, name, {
    rules: [
      {
        name: "delete",
        hooks: ["BeforeClusterDelete"],
        until: [{ name: "approved", annotation: { key: MAY_DELETE } }],
      },
    ],
  });
}

/** Of a policy that holds nothing, so that it lets nothing go that must not go. */
export function passingOverride(name: string, cluster: { namespace: string; name: string }): KubeObject {
  const ms = Math.ceil(Date.now() / 1000 + 20) * 1000;
  return {
    apiVersion: API_VERSION,
    kind: "HookOverride",
    metadata: { name },
    spec: {
      clusterRef: cluster,
      hooks: ["BeforeClusterDelete"],
      policyRefs: [{ kind: "HookPolicy", namespace: cluster.namespace, name: "minutes" }],
      reason: "soak",
      expiresAt: new Date(ms).toISOString().replace(".000Z", "Z"),
    },
  };
}

function hookPolicy(namespace: string, name: string, spec: object): KubeObject {
  return { apiVersion: API_VERSION, kind: "HookPolicy", metadata: { namespace, name }, spec };
}
