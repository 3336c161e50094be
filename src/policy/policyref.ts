/** Which policy is meant, as objects, messages and logs name it. */

export type PolicyKind = "HookPolicy" | "ClusterHookPolicy";

export interface PolicyRef {
  readonly kind: PolicyKind;
  /** Absent for a ClusterHookPolicy. */
  readonly namespace?: string;
  readonly name: string;
}

/** "HookPolicy team-a/protect-production": how messages and logs name a policy. */
export function policyName({ kind, namespace, name }: PolicyRef): string {
  return namespace === undefined ? `${kind} ${name}` : `${kind} ${namespace}/${name}`;
}
