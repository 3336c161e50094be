/** Listen addresses as controller-runtime writes them: `:9440`, `127.0.0.1:9440`, `[::1]:9440`. */

import { once } from "node:events";
import { isIP, isIPv6, type Server } from "node:net";

export interface Address {
  /** Absent: all interfaces. */
  readonly host?: string;
  /** 0: any free port. */
  readonly port: number;
}

const HOST_NAME = /^[a-z0-9]([a-z0-9-]*[a-z0-9])?(\.[a-z0-9]([a-z0-9-]*[a-z0-9])?)*$/i;

/** `undefined`: not an address. */
export function parseAddress(text: string): Address | undefined {
  const [, bracketed, plain = "", digits = ""] = /^(?:\[([^\]]*)\]|([^:]*)):(\d{1,5})$/.exec(text) ?? [];
  const port = Number(digits);
  if (digits === "" || port > 65535) return undefined;
  if (bracketed !== undefined) return isIPv6(bracketed) ? { host: bracketed, port } : undefined;
  if (plain === "") return { port };
  return isHost(plain) ? { host: plain, port } : undefined;
}

/** An IP address or a DNS name. */
export function isHost(text: string): boolean {
  // Digits and dots that are not an IPv4 address are a typing error, not a name.
  return isIP(text) !== 0 || (HOST_NAME.test(text) && !/^[\d.]+$/.test(text));
}

export function formatAddress({ host = "", port }: Address): string {
  return isIPv6(host) ? `[${host}]:${port}` : `${host}:${port}`;
}

/** Resolves with the actual port; rejects with one line that names `flag`. */
export async function listen(server: Server, address: Address, flag: string): Promise<{ port: number }> {
  server.listen({ port: address.port, ...(address.host !== undefined && { host: address.host }) });
  await once(server, "listening").catch((cause: unknown) => {
    throw new Error(`cannot listen on ${formatAddress(address)} (${flag})`, { cause });
  });
  const bound = server.address();
  return { port: typeof bound === "object" && bound !== null ? bound.port : address.port };
}
