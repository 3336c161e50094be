/**
 * Computes the next step for the operator's own certificates from the stored state alone, so that another replica, or
 * the same one after a crash, comes to the same step. The order keeps every client trusting the served certificate:
 * publish the new authority beside the old one, wait until every client has it, swap the serving certificate, drop the
 * old authority.
 */

import { X509Certificate } from "node:crypto";

import { issuedAt, KEEP_OLD_AUTHORITY_MS, lifetimeOf, renewalOf, SETTLE_MS } from "./lifetime.ts";
import { checkPair, holds, isSignedBy, parseCertificates } from "./pem.ts";
import { bundleOf, pairOf, type StoredSecret } from "./secrets.ts";

/** The two Secrets; `undefined`: there is none. */
export interface StoredCertificates {
  readonly authority: StoredSecret | undefined;
  readonly serving: StoredSecret | undefined;
}

export type Action =
  | "CreateAuthority"
  | "ReplaceAuthority"
  | "CreateServing"
  /** Add the authority to the bundle; the serving certificate stays. */
  | "PublishAuthority"
  /** Nothing to write: not all callers trust the authority yet, or not for long enough. */
  | "AwaitTrust"
  /** Issue a new serving certificate and put the authority into the bundle. */
  | "IssueLeaf"
  | "DropOldAuthorities"
  | "None";

/** `trustedSince`: when all callers were first seen to trust the authority; `undefined`: not all do, or it was not checked. */
export function nextAction(
  { authority, serving }: StoredCertificates,
  names: readonly string[],
  { now, trustedSince }: { readonly now: Date; readonly trustedSince: Date | undefined },
): Action {
  if (authority === undefined) return "CreateAuthority";
  const signing = usableAuthority(authority, now);
  if (signing === undefined || renewalOf(lifetimeOf(signing)) <= now) return "ReplaceAuthority";
  if (serving === undefined) return "CreateServing";
  const leaf = usable(serving, now);
  const published = parseCertificates(bundleOf(serving));
  const signer = leaf && published.find((each) => isValidYet(each, now) && isSignedBy(leaf, each));
  // No client can trust the current certificate, so there is nothing to wait for.
  if (leaf === undefined || signer === undefined) return "IssueLeaf";
  if (names.some((name) => leaf.checkHost(name) === undefined)) return "IssueLeaf";
  if (!holds(bundleOf(serving), signing)) return "PublishAuthority";
  if (signer.fingerprint256 !== signing.fingerprint256)
    return isPast(trustedSince, SETTLE_MS, now) ? "IssueLeaf" : "AwaitTrust";
  return afterSwap(leaf, published, now);
}

function afterSwap(leaf: X509Certificate, published: readonly X509Certificate[], now: Date): Action {
  const life = lifetimeOf(leaf);
  if (renewalOf(life) <= now) return "IssueLeaf";
  const isSeen = isPast(issuedAt(life), KEEP_OLD_AUTHORITY_MS, now);
  return isSeen && published.length > 1 ? "DropOldAuthorities" : "None";
}

function isPast(since: Date | undefined, ms: number, now: Date): boolean {
  return since !== undefined && now.getTime() - since.getTime() >= ms;
}

export function usableAuthority(secret: StoredSecret, now: Date): X509Certificate | undefined {
  const certificate = usable(secret, now);
  return certificate?.ca && isSignedBy(certificate, certificate) ? certificate : undefined;
}

/** `undefined`: TLS cannot use the content at `now`. */
function usable(secret: StoredSecret, now: Date): X509Certificate | undefined {
  try {
    const { cert } = checkPair(pairOf(secret), now);
    const certificate = new X509Certificate(cert);
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

/** While nothing is stored, any replica may write, because the API server accepts only one of the writes. */
export function needsLeader(action: Action): boolean {
  return action !== "CreateAuthority" && action !== "CreateServing";
}
