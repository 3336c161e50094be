/** The text of the answer to Cluster API's first call. */

import { handlerName, type ServedHooks } from "../api/hook-catalog.ts";
import { HOOK_NAMES, HOOKS_GROUP_VERSION } from "../api/runtime-hooks.ts";
import { compareText } from "../lib/compare-text.ts";

/** Cluster API's default; longer than all of release/release.ts. */
const HANDLER_TIMEOUT_SECONDS = 10;

/**
 * Cluster API's manager exits if an extension does not answer for 60 s.
 * Handlers are sorted by name, because Cluster API would patch the status of the ExtensionConfig again and again if replicas
 * answered differently.
 */
export function discoveryResponse(served: ServedHooks): string {
  const handlers = HOOK_NAMES.filter((hook) => served.advertised.has(hook))
    .map((hook) => ({
      name: handlerName(hook),
      requestHook: { apiVersion: HOOKS_GROUP_VERSION, hook },
      timeoutSeconds: HANDLER_TIMEOUT_SECONDS,
      failurePolicy: "Fail",
    }))
    .toSorted((a, b) => compareText(a.name, b.name));
  return JSON.stringify({
    apiVersion: HOOKS_GROUP_VERSION,
    kind: "DiscoveryResponse",
    status: "Success",
    handlers,
  });
}
