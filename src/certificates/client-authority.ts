/** Follows the authorities of client certificates on disk, and checks the client certificates of connections. */

import { X509Certificate } from "node:crypto";
import { createSecureContext, type TLSSocket } from "node:tls";

import type { Clients } from "../server/tls-server.ts";
import { Followed, type FollowedOptions } from "./followed.ts";
import { type Lifetime, lifetimeOf } from "./lifetime.ts";
import { certificateBlocks, readPem } from "./pem.ts";
import type { ClientSettings } from "./settings.ts";

export interface ClientAuthorityOptions
  extends ClientSettings, Pick<FollowedOptions<Authorities>, "log" | "onChange"> {
  /** The flag that names the file, for errors. */
  readonly flag: string;
  readonly remedy: string;
  readonly now: () => Date;
}

/** Its dates are those of the authority that expires first. */
interface Authorities extends Lifetime {
  readonly pem: string;
}

export class ClientAuthority extends Followed<Authorities> implements Clients {
  readonly remedy: string;
  readonly #accepted: Pick<ClientAuthorityOptions, "names" | "now">;

  constructor(options: ClientAuthorityOptions) {
    super({ ...options, what: "client authorities", read: async () => await authoritiesOf(options) });
    this.remedy = options.remedy;
    this.#accepted = options;
  }

  get pem(): string {
    return this.current?.pem ?? "";
  }

  refusal(socket: TLSSocket): string | undefined {
    const { names, now } = this.#accepted;
    const certificate = socket.getPeerX509Certificate();
    if (certificate === undefined) return "no client certificate";
    if (!socket.authorized) return `client certificate: ${String(socket.authorizationError)}`;
    // A connection may outlive the certificate that was valid when it began.
    if (certificate.validToDate <= now()) return "client certificate: CERT_HAS_EXPIRED";
    if (names.length === 0) return undefined;
    const { CN } = certificate.toLegacyObject().subject;
    if (typeof CN === "string" && names.includes(CN)) return undefined;
    return "client certificate: another common name";
  }
}

async function authoritiesOf({ caFile: file, flag }: ClientAuthorityOptions): Promise<Authorities> {
  const pem = await readPem(file, flag);
  try {
    const validity = validityOf(pem);
    createSecureContext({ ca: pem });
    return { pem, ...validity };
  } catch (cause) {
    throw new Error(`cannot use ${file} (${flag})`, { cause });
  }
}

/** Throws if there is no certificate, or if one cannot be read, which OpenSSL would leave out silently. */
function validityOf(pem: string): Lifetime {
  const all = certificateBlocks(pem).map(parse);
  const [first] = all.toSorted((a, b) => a.notAfter.getTime() - b.notAfter.getTime());
  if (first === undefined) throw new Error("it holds no certificate in PEM");
  return first;
}

function parse(pem: string): Lifetime {
  try {
    return lifetimeOf(new X509Certificate(pem));
  } catch (cause) {
    throw new Error("a certificate in it is not valid PEM", { cause });
  }
}
