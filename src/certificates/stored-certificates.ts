/** Judges the content of the two Secrets: the keys of the type kubernetes.io/tls, and ca.crt. */

import { X509Certificate } from "node:crypto";

import type { KeyPair } from "../server/tls-server.ts";
import { lifetimeOf, type Validity } from "./lifetime.ts";
import { checkPair, isSignedBy, joinCertificates, parseCertificates } from "./pem.ts";
import type { CertificateState } from "./rotation.ts";

export interface StoredSecret {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Whether HookPolicy created the Secret; it leaves other Secrets alone. */
  readonly ours: boolean;
  readonly data: SecretData;
}

/** Decoded values, not base64. */
export type SecretData = Readonly<Record<string, string>>;

export interface StoredCertificates {
  readonly authority: StoredSecret | undefined;
  readonly serving: StoredSecret | undefined;
}

export function pairOf({ data }: StoredSecret): KeyPair {
  return { cert: data["tls.crt"] ?? "", key: data["tls.key"] ?? "" };
}

/** The authorities that clients should trust, from the serving certificate's Secret. */
export function bundleOf({ data }: StoredSecret): string {
  return data["ca.crt"] ?? "";
}

/** `bundle`: the authorities that clients should trust; absent in the Secret of the authority itself. */
export function dataOf({ cert, key }: KeyPair, bundle?: readonly X509Certificate[]): SecretData {
  return { "tls.crt": cert, "tls.key": key, ...(bundle && { "ca.crt": joinCertificates(bundle) }) };
}

/** Judges the Secrets alone, without `trustedSince`, which needs a look at other objects. */
export function judgeSecrets(
  { authority, serving }: StoredCertificates,
  names: readonly string[],
  now: Date,
): CertificateState {
  return {
    ...(authority !== undefined && { authority: judgeAuthority(pairOf(authority), now) }),
    ...(serving !== undefined && { serving: judgeServing(serving, names, now) }),
  };
}

function judgeAuthority(pair: KeyPair, now: Date): NonNullable<CertificateState["authority"]> {
  const certificate = usable(pair, now);
  if (certificate === undefined || !certificate.ca || !isSignedBy(certificate, certificate)) return {};
  return { certificate: validityOf(certificate) };
}

function judgeServing(
  secret: StoredSecret,
  names: readonly string[],
  now: Date,
): NonNullable<CertificateState["serving"]> {
  const authorities = parseCertificates(bundleOf(secret));
  const bundle = authorities.map(validityOf);
  const certificate = usable(pairOf(secret), now);
  if (certificate === undefined || !names.every((name) => certificate.checkHost(name) !== undefined)) {
    return { bundle };
  }
  const signer = authorities.find((each) => isValidYet(each, now) && isSignedBy(certificate, each));
  const leaf = { ...validityOf(certificate), ...(signer && { signer: signer.fingerprint256 }) };
  return { leaf, bundle };
}

function usable(pair: KeyPair, now: Date): X509Certificate | undefined {
  try {
    checkPair(pair, now);
    const certificate = new X509Certificate(pair.cert);
    return isValidYet(certificate, now) ? certificate : undefined;
  } catch {
    return undefined;
  }
}

/**
 * A certificate whose life has not begun was issued by a clock that was ahead: clients reject it until then, possibly
 * for months.
 */
function isValidYet({ validFromDate }: X509Certificate, now: Date): boolean {
  return validFromDate <= now;
}

function validityOf(certificate: X509Certificate): Validity {
  return { fingerprint: certificate.fingerprint256, ...lifetimeOf(certificate) };
}
