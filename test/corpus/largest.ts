/** The largest objects that the CRDs admit, for the budgets of the API server. */

import type { KubeObject } from "../controlplane/client.ts";

export const many = <T>(count: number, make: (digits: string) => T): T[] =>
  Array.from({ length: count }, (_, i) => make(String(i).padStart(3, "0")));
const longKey = (digits: string): string =>
  `${`${"a".repeat(62)}.`.repeat(4).slice(0, 250)}${digits}/${"k".repeat(63)}`;
const longValue = (digits: string): string => `${"v".repeat(60)}${digits}`;

function largestSelector(labels: number, values: number): object {
  return {
    matchLabels: Object.fromEntries(many(labels, (digits) => [longKey(digits), longValue(digits)])),
    matchExpressions: many(labels, (digits) => ({
      key: longKey(digits),
      operator: "NotIn",
      values: many(values, longValue),
    })),
  };
}

/** As many of everything as there can be, each as long as it can be, but for the gates' own size. */
export function largestPolicy(gate: (digits: string) => object, gates = 16): KubeObject {
  const hooks = ["BeforeClusterUpgrade", "BeforeControlPlaneUpgrade", "AfterControlPlaneUpgrade"];
  const until = many(gates, (digits) => ({ name: longValue(digits), ...gate(digits) }));
  const matchConditions = many(16, (digits) => ({ name: longValue(digits), expression: "e".repeat(1024) }));
  const rules = many(16, (digits) => ({
    name: longValue(digits),
    hooks,
    matchConditions,
    until,
    deadline: { after: "8784h", onExpiry: "Allow" },
    message: "m".repeat(256),
  }));
  const selector = largestSelector(16, 32);
  const spec = { namespaceSelector: selector, clusterSelector: selector, rules };
  const metadata = { name: "p".repeat(63) };
  return { apiVersion: "hookpolicy.dev/v1alpha1", kind: "ClusterHookPolicy", metadata, spec };
}

const approval = (digits: string): object => ({
  label: { key: longKey(digits), valueFrom: "TargetVersion" },
});
const entry = { schedule: "0,30 22-23 * * FRI", duration: "8h30m" };
/** Each as large as a request of 3 MiB takes it. */
export const LARGE_GATES: readonly [string, (digits: string) => object, number?][] = [
  ["labels", approval],
  [
    "windows",
    () => ({
      window: { timeZone: "Z".repeat(64), allow: many(16, () => entry), deny: many(32, () => entry) },
    }),
  ],
  [
    "selectors",
    () => ({ object: { apiVersion: "velero.io/v1", kind: "Backup", selector: largestSelector(8, 16) } }),
    10,
  ],
  [
    "alternatives",
    () => ({ anyOf: many(8, (digits) => ({ name: longValue(digits), ...approval(digits) })) }),
  ],
];

/** As many stages, gates and checks as there can be, each as long as it can be. */
export function largestRollout(gate: (digits: string) => object, gates = 16): KubeObject {
  const small = largestSelector(8, 16);
  const large = largestSelector(16, 32);
  const until = many(gates, (digits) => ({ name: longValue(digits), ...gate(digits) }));
  const stages = many(16, (digits) => ({
    name: longValue(digits),
    clusterSelector: small,
    minSuccessTime: "8784h",
    until,
  }));
  const healthyWhen = many(16, (digits) => ({ name: longValue(digits), expression: "e".repeat(1024) }));
  const spread = many(8, (digits) => ({ labelKey: longKey(digits), maxConcurrency: "100%" }));
  const spec = {
    operation: "Upgrade",
    namespaceSelector: large,
    clusterSelector: large,
    progressDeadline: "8784h",
    healthyWhen,
    spread,
    stages,
  };
  return {
    apiVersion: "hookpolicy.dev/v1alpha1",
    kind: "HookRollout",
    metadata: { name: "r".repeat(63) },
    spec,
  };
}
