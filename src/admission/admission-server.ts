/** The HTTPS server that the API server's webhooks call. */

import { createHookServer, type HookRoute, type HookServerOptions } from "../server/hook-server.ts";
import type { TlsServer } from "../server/tls-server.ts";

interface AdmissionRoute extends Pick<HookRoute, "path"> {
  readonly handle: (body: Buffer) => string | Promise<string>;
}

export interface AdmissionServerOptions extends Omit<HookServerOptions, "routes" | "closed"> {
  readonly routes: readonly AdmissionRoute[];
}

export function createAdmissionServer({ routes, ...options }: AdmissionServerOptions): TlsServer {
  const { log, undecodable } = options;
  const routeOf = ({ path, handle }: AdmissionRoute): HookRoute => ({
    path,
    handle: async (body) => {
      const bytes = Buffer.from(body.view()); // a review waits for its turn, and the body is gone by then
      try {
        return await handle(bytes);
      } catch (error) {
        log.error("Failed to answer a review", { path, error });
        return undecodable(path, "internal", bytes);
      }
    },
  });
  return createHookServer({ ...options, closed: true, routes: routes.map(routeOf) });
}
