/** The requests to the API server of which rules with admission speak. */

import type { HookName } from "../../api/runtimehooks.ts";

/** The hook of such rules. */
export const REQUEST_HOOKS = {
  Create: "BeforeClusterCreate",
  Upgrade: "BeforeClusterUpgrade",
  Delete: "BeforeClusterDelete",
} as const satisfies Readonly<Record<string, HookName>>;

export type RequestName = keyof typeof REQUEST_HOOKS;
export const REQUESTS: readonly RequestName[] = ["Create", "Upgrade", "Delete"];
