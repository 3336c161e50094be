/** How long certificates live, and when in their life something is due. */

const HOUR_MS = 60 * 60 * 1000;
const DAY_MS = 24 * HOUR_MS;

export const AUTHORITY_LIFE_MS = 3650 * DAY_MS;
export const LEAF_LIFE_MS = 90 * DAY_MS;
/** Whoever looks may have a clock that is behind ours. */
export const BACKDATED_MS = HOUR_MS;
/** For replicas that have not seen the new serving certificate, and for clients that have not seen the new bundle. */
export const KEEP_OLD_AUTHORITY_MS = DAY_MS;
/**
 * From the caBundle of all objects to what their readers use: Cluster API registers an ExtensionConfig after it has
 * written it, and each API server follows webhook configurations by a watch.
 */
export const SETTLE_MS = 30_000;

const RENEW_AT = 2 / 3;
/** Of the life, before that. */
const JITTER = 1 / 20;
const WARN_AT = 5 / 6;

export interface Validity {
  /** Names the certificate. */
  readonly fingerprint: string;
  readonly notBefore: Date;
  readonly notAfter: Date;
}

/** The same on every replica, and another for each certificate. */
export function renewalOf({ fingerprint, notBefore, notAfter }: Validity): Date {
  const life = notAfter.getTime() - notBefore.getTime();
  const jitter = (Number.parseInt(fingerprint.replaceAll(":", "").slice(0, 8), 16) / 2 ** 32) * JITTER;
  return new Date(notBefore.getTime() + life * (RENEW_AT - jitter));
}

/** From then on somebody should know: it ought to have been renewed long ago. */
export function warningOf({ notBefore, notAfter }: Pick<Validity, "notBefore" | "notAfter">): Date {
  const life = notAfter.getTime() - notBefore.getTime();
  return new Date(notBefore.getTime() + life * WARN_AT);
}

export function issuedAt({ notBefore }: Pick<Validity, "notBefore">): Date {
  return new Date(notBefore.getTime() + BACKDATED_MS);
}
