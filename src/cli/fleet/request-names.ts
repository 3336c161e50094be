/** The requests to the API server that rules with admission can judge. */

import type { HookName } from "../../api/runtime-hooks.ts";

export const REQUEST_HOOKS = {
  Create: "BeforeClusterCreate",
  Upgrade: "BeforeClusterUpgrade",
  Delete: "BeforeClusterDelete",
} as const satisfies Readonly<Record<string, HookName>>;

export type RequestName = keyof typeof REQUEST_HOOKS;
export const REQUESTS: readonly RequestName[] = ["Create", "Upgrade", "Delete"];
