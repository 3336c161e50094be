/** How long certificates live, and when they are renewed. */

import { DAY_MS, HOUR_MS } from "../lib/duration.ts";
import type { X509Certificate } from "node:crypto";

export const AUTHORITY_LIFE_MS = 3650 * DAY_MS;
export const LEAF_LIFE_MS = 90 * DAY_MS;
/** A client's clock may be behind the operator's. */
export const BACKDATED_MS = HOUR_MS;
/** Covers replicas that have not seen the new serving certificate and clients that have not seen the new bundle. */
export const KEEP_OLD_AUTHORITY_MS = DAY_MS;
/**
 * The time from a written caBundle until its readers use it: Cluster API registers an ExtensionConfig after it has
 * written it, and each API server watches webhook configurations.
 */
export const SETTLE_MS = 30_000;

const RENEW_AT = 2 / 3;
const WARN_AT = 5 / 6;

/** The dates of a certificate. */
export interface Lifetime {
  readonly notBefore: Date;
  readonly notAfter: Date;
}

export function lifetimeOf({ validFromDate, validToDate }: X509Certificate): Lifetime {
  return { notBefore: validFromDate, notAfter: validToDate };
}

export function renewalOf({ notBefore, notAfter }: Lifetime): Date {
  const life = notAfter.getTime() - notBefore.getTime();
  return new Date(notBefore.getTime() + life * RENEW_AT);
}

/** When to warn, which is long after the certificate should have been renewed. */
export function warningOf({ notBefore, notAfter }: Lifetime): Date {
  const life = notAfter.getTime() - notBefore.getTime();
  return new Date(notBefore.getTime() + life * WARN_AT);
}

export function issuedAt({ notBefore }: Pick<Lifetime, "notBefore">): Date {
  return new Date(notBefore.getTime() + BACKDATED_MS);
}

export interface CertificateLifetime extends Lifetime {
  /** "serving", for "The serving certificate" in messages. */
  readonly name: string;
}

export interface ExpiryWarning extends CertificateLifetime {
  readonly ended: boolean;
}

/** Warns once when a certificate should have been renewed, and once when it has expired. */
export class ExpiryAlarm {
  readonly #told = new Set<string>();

  /** Returns the warnings that have not been given yet. */
  look(certificates: readonly CertificateLifetime[], now: Date): ExpiryWarning[] {
    return certificates
      .filter((each) => warningOf(each) <= now)
      .map((each) => ({ ...each, ended: each.notAfter <= now }))
      .filter((warning) => this.#isNew(warning));
  }

  #isNew({ name, notAfter, ended }: ExpiryWarning): boolean {
    const key = `${name} ${notAfter.toISOString()} ${ended}`;
    if (this.#told.has(key)) return false;
    this.#told.add(key);
    return true;
  }
}
