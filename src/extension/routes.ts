/** The routes of a Runtime Extension: discovery, and one for each hook that it serves. */

import { compareText } from "../lib/compare-text.ts";
import { type HookName, HOOK_NAMES, HOOKS_GROUP_VERSION } from "../api/runtime-hooks.ts";
import { DISCOVERY_PATH, handlerName, hookPath, type ServedHooks } from "../api/hook-catalog.ts";
import type { HookRoute, HookServerOptions } from "../server/hook-server.ts";
import { failureResponse } from "./codec.ts";

/** The code that answers calls. */
export interface HookCalls {
  /** `waits`: Cluster API waits for the hook. */
  handlerOf(hook: HookName, waits: boolean): Pick<HookRoute, "repeat" | "handle">;
  /** The JSON text of the answer where a handler has thrown. */
  failed(hook: HookName, waits: boolean): string;
  /** A call without an accepted certificate was refused. */
  unauthenticated(hook: HookName): void;
  discovered(): void;
}

/** Cluster API's default; longer than all of release/release.ts. */
const HANDLER_TIMEOUT_SECONDS = 10;

export function extensionRoutes(
  served: ServedHooks,
  calls: HookCalls,
): Pick<HookServerOptions, "routes" | "undecodable"> {
  const hooks = HOOK_NAMES.filter((hook) => served.advertised.has(hook));
  const discovery = discoveryResponse(served);
  const discover = (): string => {
    calls.discovered();
    return discovery;
  };
  const byPath = new Map<string, HookName>(hooks.map((hook) => [hookPath(hook), hook]));
  const handlers = hooks.map((hook) => ({
    path: hookPath(hook),
    authenticated: true,
    ...calls.handlerOf(hook, served.blocking.has(hook)),
  }));
  return {
    routes: [{ path: DISCOVERY_PATH, ignoresBody: true, handle: discover }, ...handlers],
    undecodable: (path, reason) => {
      const hook = byPath.get(path);
      // Discovery accepts any body.
      if (hook === undefined) return discovery;
      const waits = served.blocking.has(hook);
      if (reason === "internal") return calls.failed(hook, waits);
      if (reason === "unauthenticated") calls.unauthenticated(hook);
      return failureResponse(hook, reason === "no-room" ? "undecodable" : reason, waits);
    },
  };
}

/**
 * The text of the response to Cluster API's first call. Cluster API's manager exits if an extension does not answer for 60 s.
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
