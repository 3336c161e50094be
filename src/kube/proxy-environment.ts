/** The proxy of the environment, as Go's net/http finds it (golang.org/x/net/http/httpproxy). */

import { BlockList, isIP } from "node:net";

/** $HTTPS_PROXY, for an http server $HTTP_PROXY, unless $NO_PROXY names the server; in lower case, too. */
export function proxyOf(server: URL, env: NodeJS.ProcessEnv = process.env): string | undefined {
  const either = (name: string): string => env[name] || env[name.toLowerCase()] || "";
  const proxy = either(server.protocol === "https:" ? "HTTPS_PROXY" : "HTTP_PROXY");
  if (proxy === "" || !usesProxy(server, either("NO_PROXY"))) return undefined;
  return /^(https?|socks5h?):\/\//i.test(proxy) ? proxy : `http://${proxy}`;
}

function usesProxy(server: URL, noProxy: string): boolean {
  const host = server.hostname
    .replace(/^\[|\]$/g, "")
    .replace(/\.$/, "")
    .toLowerCase();
  const port = server.port || (server.protocol === "https:" ? "443" : "80");
  if (host === "localhost" || isLoopback(host)) return false;
  const entries = noProxy.split(",").map((entry) => entry.trim().toLowerCase());
  return !entries.some((entry) => entry !== "" && covers(entry, host, port));
}

function isLoopback(host: string): boolean {
  return host === "::1" || (isIP(host) === 4 && host.startsWith("127."));
}

/** An entry is "*", an address range, or an address or name that may end with a port. */
function covers(entry: string, host: string, port: string): boolean {
  if (entry === "*") return true;
  const [range = "", bits] = entry.split("/");
  if (bits !== undefined) return isIn({ range, bits }, host);
  const [name, ofPort] = nameAndPort(entry);
  if (ofPort !== undefined && ofPort !== port) return false;
  if (isIP(name) !== 0 || isIP(host) !== 0) return name === host;
  const suffix = name.replace(/^\*/, "");
  return host === suffix || host.endsWith(suffix.startsWith(".") ? suffix : `.${suffix}`);
}

function nameAndPort(entry: string): readonly [string, string | undefined] {
  if (isIP(entry) === 6) return [entry, undefined];
  const [, address, name = "", port] = /^(?:\[(.*)\]|([^:]*))(?::(\d+))?$/.exec(entry) ?? [];
  return [address ?? name, port];
}

function isIn({ range, bits }: { readonly range: string; readonly bits: string }, host: string): boolean {
  const family = isIP(range) === 6 ? "ipv6" : "ipv4";
  const most = family === "ipv6" ? 128 : 32;
  if (isIP(range) === 0 || isIP(host) !== isIP(range) || !/^\d+$/.test(bits) || Number(bits) > most)
    return false;
  const list = new BlockList();
  list.addSubnet(range, Number(bits), family);
  return list.check(host, family);
}
