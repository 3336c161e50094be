/** The response to Cluster API's first call. Its manager exits if an extension does not answer for 60 s. */

import { HOOK_NAMES, HOOKS_GROUP_VERSION } from "../api/runtimehooks.ts";
import { handlerName, type ServedHooks } from "../api/hookcatalog.ts";

/** Cluster API's default; longer than the budgets of confirmation.ts and rollouts.ts together. */
const HANDLER_TIMEOUT_SECONDS = 10;

/**
 * The text of the response. Handlers are sorted by name: if replicas answered differently, Cluster API would patch the
 * status of the ExtensionConfig again and again.
 */
export function discoveryResponse(served: ServedHooks): string {
  const handlers = HOOK_NAMES.filter((hook) => served.advertised.has(hook))
    .map((hook) => ({
      name: handlerName(hook),
      requestHook: { apiVersion: HOOKS_GROUP_VERSION, hook },
      timeoutSeconds: HANDLER_TIMEOUT_SECONDS,
      failurePolicy: "Fail",
    }))
    .toSorted((a, b) => (a.name < b.name ? -1 : 1));
  return JSON.stringify({
    apiVersion: HOOKS_GROUP_VERSION,
    kind: "DiscoveryResponse",
    status: "Success",
    handlers,
  });
}
