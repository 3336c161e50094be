/** Follows the authorities of client certificates on disk, and checks the client certificates of connections. */

import { X509Certificate } from "node:crypto";
import { createSecureContext, type TLSSocket } from "node:tls";

import type { Logger } from "../lib/logger.ts";
import { SayOnce } from "../lib/say-once.ts";
import { errorText } from "../lib/error-text.ts";
import { every } from "../lib/signals.ts";
import { certificateBlocks, readPem } from "./pem.ts";
import type { ClientSettings } from "./settings.ts";
import { type Lifetime, lifetimeOf } from "./lifetime.ts";

export interface ClientAuthorityOptions extends ClientSettings {
  /** The flag that names the file, for errors. */
  readonly flag: string;
  /** How a client gets a certificate that is accepted, for the log. */
  readonly remedy: string;
  readonly log: Logger;
  readonly now: () => Date;
  /** Called after each valid change, when `current` already has the new content. */
  readonly onChange: () => void;
}

interface Authorities extends Lifetime {
  readonly pem: string;
}

const INTERVAL_MS = 5_000;

export class ClientAuthority {
  readonly #options: ClientAuthorityOptions;
  #current: Authorities | undefined;
  readonly #trouble = new SayOnce();

  constructor(options: ClientAuthorityOptions) {
    this.#options = options;
  }

  get remedy(): string {
    return this.#options.remedy;
  }

  /** PEM; "" before `load`. */
  get current(): string {
    return this.#current?.pem ?? "";
  }

  /** Validity of the authority that expires first. */
  get validity(): Lifetime | undefined {
    return this.#current;
  }

  /** Throws a one-line Error: without authorities, callers cannot be authenticated. */
  async load(): Promise<void> {
    this.#current = await this.#read();
  }

  /** Runs until `signal` aborts; never rejects. */
  async run(signal: AbortSignal): Promise<void> {
    await every(INTERVAL_MS, signal, async () => await this.look());
  }

  /** Reads the file once. Unusable content leaves the old authorities in place. */
  async look(): Promise<void> {
    const { log, onChange } = this.#options;
    try {
      const authorities = await this.#read();
      this.#trouble.reset();
      if (authorities.pem === this.current) return;
      this.#current = authorities;
      onChange();
      log.info("Changed the client authorities", { notAfter: authorities.notAfter });
    } catch (error) {
      this.#trouble.say(errorText(error), () => log.warn("Keeping the old client authorities", { error }));
    }
  }

  /** Why calls on this connection are refused; `undefined`: they are answered. */
  refusal(socket: TLSSocket): string | undefined {
    const { names, now } = this.#options;
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

  async #read(): Promise<Authorities> {
    const { caFile: file, flag } = this.#options;
    const pem = await readPem(file, flag);
    try {
      const validity = validityOf(pem);
      createSecureContext({ ca: pem });
      return { pem, ...validity };
    } catch (cause) {
      throw new Error(`cannot use ${file} (${flag})`, { cause });
    }
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
