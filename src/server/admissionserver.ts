/** The HTTPS server that the API server's webhooks call. */

import { createHookServer, type HookRoute, type HookServerOptions } from "./hookserver.ts";
import type { TlsServer } from "./tlsserver.ts";

export interface AdmissionServerOptions extends Omit<HookServerOptions, "routes" | "acceptedOnly"> {
  readonly routes: readonly { readonly path: string; handle(body: Buffer): string | Promise<string> }[];
}

export function createAdmissionServer(options: AdmissionServerOptions): TlsServer {
  const routes = options.routes.map((route): HookRoute => ({
    path: route.path,
    handle: (body) => route.handle(body.bytes()),
  }));
  return createHookServer({ ...options, routes, acceptedOnly: true });
}
