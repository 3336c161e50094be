/** One table names every hook; routes, discovery, decoding and answers derive from it. */

import { HOOK_NAMES, HOOKS_GROUP_VERSION, type HookCall, type HookName } from "../api/runtimehooks.ts";
import type { ServedHooks } from "../policy/compile.ts";

type VersionField = Exclude<keyof HookCall, "hook" | "settings">;

interface CatalogEntry {
  /** First Cluster API minor (1.x) that calls the hook. An unknown hook makes older ones refuse the whole discovery. */
  readonly since: number;
  /** First minor that waits while the answer has retryAfterSeconds > 0; absent: it never waits. */
  readonly blocksSince?: number;
  /** The fields of the request that say which version the call is about. */
  readonly versions: readonly VersionField[];
}

const FROM_TO = ["fromKubernetesVersion", "toKubernetesVersion"] as const;

/** Cluster API: api/runtime/hooks/v1alpha1/lifecyclehooks_types.go, and its history from v1.2 to v1.14. */
export const CATALOG: Readonly<Record<HookName, CatalogEntry>> = {
  BeforeClusterCreate: { since: 2, blocksSince: 2, versions: [] },
  AfterControlPlaneInitialized: { since: 2, versions: [] },
  BeforeClusterUpgrade: { since: 2, blocksSince: 2, versions: FROM_TO },
  BeforeControlPlaneUpgrade: { since: 12, blocksSince: 12, versions: FROM_TO },
  AfterControlPlaneUpgrade: { since: 2, blocksSince: 2, versions: ["kubernetesVersion"] },
  BeforeWorkersUpgrade: { since: 12, blocksSince: 12, versions: FROM_TO },
  AfterWorkersUpgrade: { since: 12, blocksSince: 12, versions: ["kubernetesVersion"] },
  AfterClusterUpgrade: { since: 2, blocksSince: 12, versions: ["kubernetesVersion"] },
  BeforeClusterDelete: { since: 2, blocksSince: 2, versions: [] },
};

/** The first minor that looks at its mark of an upgrade before it calls BeforeClusterUpgrade. */
const MARKS_UPGRADES_SINCE = 12;

/** The set of hooks is fixed per process by `--capi-version` and never detected. */
export function servedHooks(capiMinor: number): ServedHooks {
  const served = HOOK_NAMES.filter((hook) => CATALOG[hook].since <= capiMinor);
  return {
    capiVersion: `1.${capiMinor}`,
    advertised: new Set(served),
    blocking: new Set(served.filter((hook) => (CATALOG[hook].blocksSince ?? Infinity) <= capiMinor)),
    marksUpgrades: capiMinor >= MARKS_UPGRADES_SINCE,
  };
}

/** Kebab-case, no dot: Cluster API appends ".<ExtensionConfig>" (DNS-1123 label). */
export function handlerName(hook: HookName): string {
  return hook.replaceAll(/(?<=[a-z])(?=[A-Z])/g, "-").toLowerCase();
}

/** Cluster API: api/runtime/catalog/catalog.go, GVHToPath. */
export function hookPath(hook: HookName): string {
  return `/${HOOKS_GROUP_VERSION}/${hook.toLowerCase()}/${handlerName(hook)}`;
}

export const DISCOVERY_PATH = `/${HOOKS_GROUP_VERSION}/discovery`;
