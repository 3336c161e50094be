/** The operations that a request to the API server begins: rollouts limit them, and rules with admission judge the request. */

import type { HookRolloutSpec } from "../api/hook-policy.ts";
import type { HookName } from "../api/runtime-hooks.ts";

export type Operation = HookRolloutSpec["operation"];

/** The hook whose answer releases the operation. */
export const BEGINS: Readonly<Record<Operation, HookName>> = {
  Create: "BeforeClusterCreate",
  Upgrade: "BeforeClusterUpgrade",
  Delete: "BeforeClusterDelete",
};

export const OPERATIONS: readonly Operation[] = ["Create", "Upgrade", "Delete"];

export function operationOf(hook: HookName): Operation | undefined {
  return OPERATIONS.find((operation) => BEGINS[operation] === hook);
}
