import type { HookOverride, HookOverrideStatus, HookPolicyStatus } from "../api/hook-policy.ts";
import type { Namespace } from "../api/meta.ts";
import type { OverrideEntry } from "../memory/override-set.ts";
import type { PolicyEntry } from "../memory/policy-entry.ts";
import type { PolicyObject } from "../memory/policy-set.ts";

/** The part of the API server that policies and overrides need. `undefined`: the object does not exist (any more). */
export interface PolicyApi {
  /** Quorum read. */
  findNamespace(name: string): Promise<Namespace | undefined>;
  /**
   * Quorum read: whether the namespace has a Cluster that `selector` matches, in the syntax of `kubectl get -l`.
   * `undefined`: the API server does not serve Clusters.
   */
  hasCluster(namespace: string, selector: string): Promise<boolean | undefined>;
  getOverride(entry: OverrideEntry): Promise<HookOverride | undefined>;
  replaceOverrideStatus(entry: OverrideEntry, status: HookOverrideStatus): Promise<HookOverride | undefined>;
  isConflict(error: unknown): boolean;
  getPolicy(entry: PolicyEntry): Promise<PolicyObject | undefined>;
  replacePolicyStatus(entry: PolicyEntry, status: HookPolicyStatus): Promise<PolicyObject | undefined>;
  /** Rejects with a conflict if the policy has changed since `object`, from which the list was made. */
  setFinalizers(object: PolicyObject, finalizers: readonly string[]): Promise<PolicyObject | undefined>;
}
