/** The TLS options of every HTTPS listener. */

import type { ServerOptions } from "node:https";

/** Both in PEM; the certificate may be followed by its chain. */
export interface KeyPair {
  readonly cert: string;
  readonly key: string;
}

/** A change of the certificate has to pass all of these options again. */
export function tlsOptions({ cert, key }: KeyPair): ServerOptions {
  return { cert, key, minVersion: "TLSv1.2" };
}
