/** The routes of the Runtime Extension: discovery, and one for each hook that it serves. */

import { DISCOVERY_PATH, hookPath, type ServedHooks } from "../api/hook-catalog.ts";
import { HOOK_NAMES } from "../api/runtime-hooks.ts";
import { discoveryResponse, failureResponse } from "../extension/codec.ts";
import type { HookServerOptions, UndecodableReason } from "../server/hook-server.ts";
import { createHandler, type HandlerDeps } from "./hook-handler.ts";

export interface Routes extends Pick<HookServerOptions, "routes"> {
  readonly undecodable: (path: string, reason: UndecodableReason) => string;
  /** Forgets what is kept for repeated calls about a deleted Cluster. */
  readonly forget: (clusterUID: string) => void;
}

export function createRoutes(served: ServedHooks, deps: HandlerDeps): Routes {
  const discovery = discoveryResponse(served);
  const discover = (): string => {
    deps.metrics.discovered();
    return discovery;
  };
  const hooks = HOOK_NAMES.filter((hook) => served.advertised.has(hook)).map((hook) => {
    const waits = served.blocking.has(hook);
    return { hook, waits, path: hookPath(hook), handler: createHandler(hook, waits, deps) };
  });
  const byPath = new Map(hooks.map((each) => [each.path, each]));
  return {
    routes: [
      { path: DISCOVERY_PATH, ignoresBody: true, handle: discover },
      ...hooks.map(({ path, handler }) => ({ path, authenticated: true, ...handler })),
    ],
    undecodable: (path, reason) => {
      const called = byPath.get(path);
      // Discovery accepts any body.
      if (called === undefined) return discovery;
      const { hook, waits, handler } = called;
      if (reason === "internal") return handler.failed();
      if (reason === "unauthenticated") deps.metrics.answered(hook, "Unauthenticated", 0);
      return failureResponse(hook, reason === "no-room" ? "undecodable" : reason, waits);
    },
    forget: (clusterUID) => {
      for (const { handler } of hooks) handler.forget(clusterUID);
      deps.answers.forget(clusterUID);
    },
  };
}
