/**
 * The lifecycle hooks of Cluster API's Runtime SDK, group hooks.runtime.cluster.x-k8s.io, version v1alpha1
 * (Cluster API: api/runtime/hooks/v1alpha1/lifecyclehooks_types.go).
 */

export const HOOKS_GROUP_VERSION = "hooks.runtime.cluster.x-k8s.io/v1alpha1";

/** In the order in which Cluster API calls them during a Cluster's life. */
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

/** The fields of a call besides the Cluster; which of them are set depends on the hook. */
export interface HookCall {
  readonly hook: HookName;
  readonly fromKubernetesVersion?: string;
  readonly toKubernetesVersion?: string;
  readonly kubernetesVersion?: string;
  /** spec.settings of the ExtensionConfig. */
  readonly settings?: Readonly<Record<string, string>>;
}

export type VersionField = Exclude<keyof HookCall, "hook" | "settings">;

const NONE = [] as const;
const FROM_TO = ["fromKubernetesVersion", "toKubernetesVersion"] as const;
const OF_CLUSTER = ["kubernetesVersion"] as const;

/** The version fields of each hook's requests. Every request has all of them, fromKubernetesVersion perhaps empty. */
export const VERSION_FIELDS: Readonly<Record<HookName, readonly VersionField[]>> = {
  BeforeClusterCreate: NONE,
  AfterControlPlaneInitialized: NONE,
  BeforeClusterUpgrade: FROM_TO,
  BeforeControlPlaneUpgrade: FROM_TO,
  AfterControlPlaneUpgrade: OF_CLUSTER,
  BeforeWorkersUpgrade: FROM_TO,
  AfterWorkersUpgrade: OF_CLUSTER,
  AfterClusterUpgrade: OF_CLUSTER,
  BeforeClusterDelete: NONE,
};

/** Also of the CRDs. A Cluster may have one of 256 characters (Cluster API: Topology.Version); calls with it are refused. */
export const MAX_VERSION = 64;

/** "v" and a semantic version, as Cluster API requires (util/version: KubeSemver). */
export const VERSION_PATTERN = "^v(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)([-0-9a-zA-Z_.+]*)?$";

/** The JSON of a blocking hook's response; AfterControlPlaneInitialized has no retryAfterSeconds. */
export interface HookResponse {
  readonly apiVersion: typeof HOOKS_GROUP_VERSION;
  readonly kind: `${HookName}Response`;
  readonly status: "Success" | "Failure";
  /** Omitted when released: Cluster API joins the messages of all handlers, whatever their result. */
  readonly message?: string;
  /** 0: proceed. Otherwise held, and called again after that many seconds. An integer (Go decodes into int32). */
  readonly retryAfterSeconds?: number;
}
