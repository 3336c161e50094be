/**
 * The lifecycle hooks of Cluster API's Runtime SDK, group hooks.runtime.cluster.x-k8s.io, version v1alpha1
 * (Cluster API: api/runtime/hooks/v1alpha1/lifecyclehooks_types.go).
 */

export const HOOKS_GROUP_VERSION = "hooks.runtime.cluster.x-k8s.io/v1alpha1";

/** In the order in which Cluster API calls them in a Cluster's life. */
export const HOOK_NAMES = [
  "BeforeClusterCreate",
  "AfterControlPlaneInitialized",
  "BeforeClusterUpgrade",
  "BeforeControlPlaneUpgrade",
  "AfterControlPlaneUpgrade",
  "BeforeWorkersUpgrade",
  "AfterWorkersUpgrade",
  "AfterClusterUpgrade",
  "BeforeClusterDelete",
] as const;

export type HookName = (typeof HOOK_NAMES)[number];

/** What a call tells beyond the Cluster itself; which fields are set depends on the hook. */
export interface HookCall {
  readonly hook: HookName;
  readonly fromKubernetesVersion?: string;
  readonly toKubernetesVersion?: string;
  readonly kubernetesVersion?: string;
  /** spec.settings of the ExtensionConfig. */
  readonly settings?: Readonly<Record<string, string>>;
}

export type VersionField = Exclude<keyof HookCall, "hook" | "settings">;

const FROM_TO = ["fromKubernetesVersion", "toKubernetesVersion"] as const;
const OF_CLUSTER = ["kubernetesVersion"] as const;

/** The fields of the hook's requests that say which version they are about: each request has all of them. */
export const VERSION_FIELDS: Readonly<Record<HookName, readonly VersionField[]>> = {
  BeforeClusterCreate: [],
  AfterControlPlaneInitialized: [],
  BeforeClusterUpgrade: FROM_TO,
  BeforeControlPlaneUpgrade: FROM_TO,
  AfterControlPlaneUpgrade: OF_CLUSTER,
  BeforeWorkersUpgrade: FROM_TO,
  AfterWorkersUpgrade: OF_CLUSTER,
  AfterClusterUpgrade: OF_CLUSTER,
  BeforeClusterDelete: [],
};

/** The JSON of a blocking hook's response; AfterControlPlaneInitialized has no retryAfterSeconds. */
export interface HookResponse {
  readonly apiVersion: typeof HOOKS_GROUP_VERSION;
  readonly kind: `${HookName}Response`;
  readonly status: "Success" | "Failure";
  /** Omitted when allowing: Cluster API joins the messages of all handlers, allowed or not. */
  readonly message?: string;
  /** 0: go on. More: blocked, and asked again after that many seconds. An integer (Go decodes into int32). */
  readonly retryAfterSeconds?: number;
}
