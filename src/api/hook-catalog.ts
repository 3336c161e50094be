/** The table of all hooks, from which routes, discovery and responses are derived. */

import { HOOK_NAMES, HOOKS_GROUP_VERSION, type HookName } from "./runtime-hooks.ts";

/** The hooks that this process serves, and which of them can hold an operation: fixed by `--capi-version`, never detected. */
export interface ServedHooks {
  readonly capiVersion: string;
  readonly advertised: ReadonlySet<HookName>;
  readonly blocking: ReadonlySet<HookName>;
  /**
   * Whether BeforeClusterUpgrade is not called again once an upgrade is marked (AfterClusterUpgrade). Cluster API up to
   * 1.11 calls it again if a step after the mark fails (exp/topology/desiredstate/desired_state.go,
   * computeControlPlaneVersion).
   */
  readonly marksUpgrades: boolean;
}

interface CatalogEntry {
  /** The first Cluster API 1.x that calls the hook. An unknown hook makes older versions reject the whole discovery. */
  readonly since: number;
  /** The first 1.x that waits while the response has retryAfterSeconds > 0; absent: it never waits. */
  readonly blocksSince?: number;
}

/** Cluster API: api/runtime/hooks/v1alpha1/lifecyclehooks_types.go, and its history from v1.2 to v1.14. */
export const CATALOG: Readonly<Record<HookName, CatalogEntry>> = {
  BeforeClusterCreate: { since: 2, blocksSince: 2 },
  AfterControlPlaneInitialized: { since: 2 },
  BeforeClusterUpgrade: { since: 2, blocksSince: 2 },
  BeforeControlPlaneUpgrade: { since: 12, blocksSince: 12 },
  AfterControlPlaneUpgrade: { since: 2, blocksSince: 2 },
  BeforeWorkersUpgrade: { since: 12, blocksSince: 12 },
  AfterWorkersUpgrade: { since: 12, blocksSince: 12 },
  AfterClusterUpgrade: { since: 2, blocksSince: 12 },
  BeforeClusterDelete: { since: 2, blocksSince: 2 },
};

/** The hooks that are called for every step of an upgrade. */
export const STEP_HOOKS: ReadonlySet<HookName> = new Set([
  "BeforeControlPlaneUpgrade",
  "AfterControlPlaneUpgrade",
  "BeforeWorkersUpgrade",
  "AfterWorkersUpgrade",
]);

export function servedHooks(capiMinor: number): ServedHooks {
  const served = HOOK_NAMES.filter((hook) => CATALOG[hook].since <= capiMinor);
  return {
    capiVersion: `1.${capiMinor}`,
    advertised: new Set(served),
    blocking: new Set(served.filter((hook) => (CATALOG[hook].blocksSince ?? Infinity) <= capiMinor)),
    marksUpgrades: capiMinor >= 12,
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
