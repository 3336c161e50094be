/** A reconciler over an API server that accepts everything. */

import { FINALIZER } from "../../../src/api/hook-policy.ts";
import type { ObjectMeta } from "../../../src/api/meta.ts";
import type { PolicyObject } from "../../../src/memory/policy-set.ts";
import { PolicyReconciler, type PolicyReconcilerOptions } from "../../../src/status/policy-reconciler.ts";
import { hookPolicy, namespace, NO_OBJECTS, NOW } from "../builders.ts";
import { type Fixture, silent } from "../memory/fixtures.ts";
import type { PolicyApi } from "../../../src/status/policy-api.ts";

export const DELETED = "2026-11-21T11:59:00Z";
export const conflict = new Error("conflict");
export const withMeta = (object: PolicyObject, meta: Partial<ObjectMeta>): PolicyObject => ({
  ...object,
  metadata: { ...object.metadata, ...meta },
});
export const held = withMeta(hookPolicy(), { finalizers: [FINALIZER] });
export const deleted = withMeta(held, { deletionTimestamp: DELETED });

/** An API server that accepts everything, one resourceVersion further each time. */
function apiServer(over: Partial<PolicyApi> = {}): PolicyApi {
  let version = 200;
  const next = (): string => String(version++);
  return {
    getPolicy: async ({ object }) => object,
    replacePolicyStatus: async ({ object }, status) => ({
      ...withMeta(object, { resourceVersion: next() }),
      status,
    }),
    setFinalizers: async (object, finalizers) => withMeta(object, { resourceVersion: next(), finalizers }),
    findNamespace: async () => namespace(),
    hasCluster: async () => true,
    getOverride: async ({ object }) => object,
    replaceOverrideStatus: async ({ object }, status) => ({ ...object, status }),
    isConflict: (error) => error === conflict,
    ...over,
  };
}

export function reconcilerOf(
  { store }: Fixture,
  api: Partial<PolicyApi> = {},
  over: Partial<PolicyReconcilerOptions> = {},
): PolicyReconciler {
  return new PolicyReconciler({
    store,
    api: apiServer(api),
    objects: NO_OBJECTS,
    log: silent,
    now: () => NOW,
    tasksUnavailable: () => undefined,
    clustersUnavailable: () => undefined,
    notCalled: () => undefined,
    onStatusWrite: () => undefined,
    onEvent: () => undefined,
    ...over,
  });
}
