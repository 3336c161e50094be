/** The paths that are served, made once: the set is fixed per process. */

import { type HookName, HOOK_NAMES } from "../api/runtimehooks.ts";
import type { ServedHooks } from "../policy/compile.ts";
import { DISCOVERY_PATH, hookPath } from "./catalog.ts";
import { undecodableResponse } from "./codec.ts";
import { discoveryResponse } from "./discovery.ts";
import { createHandler, type HandlerDeps, internalErrorResponse } from "./handler.ts";

export interface Routes {
  readonly routes: readonly { readonly path: string; handle(body: Buffer): string | Promise<string> }[];
  /** The answer where there is no body to handle, or where handling it has thrown. */
  readonly undecodable: (path: string, reason: "too-large" | "incomplete" | "internal") => string;
}

/** One route per advertised hook, and discovery. */
export function createRoutes(served: ServedHooks, deps: HandlerDeps): Routes {
  const hooks = HOOK_NAMES.filter((hook) => served.advertised.has(hook));
  const discovery = discoveryResponse(served);
  const byPath = new Map<string, HookName>(hooks.map((hook) => [hookPath(hook), hook]));
  return {
    routes: [
      { path: DISCOVERY_PATH, handle: discover },
      ...hooks.map((hook) => ({
        path: hookPath(hook),
        handle: createHandler(hook, served.blocking.has(hook), deps),
      })),
  const discover = (): string => {
    deps.metrics.discovered();
    return discovery;
  };
    ],
    undecodable: (path, reason) => {
      const hook = byPath.get(path);
      // Discovery takes anything: a request that is broken off still learns what is served.
      if (hook === undefined) return discovery;
      const waits = served.blocking.has(hook);
      return reason === "internal" ? internalErrorResponse(hook, waits) : undecodableResponse(hook, waits);
    },
  };
}
