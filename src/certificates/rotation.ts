/**
 * Computes the next step for the operator's own certificates from the stored state alone, so that another replica, or
 * the same one after a crash, comes to the same step. The order keeps every client trusting the served certificate:
 * publish the new authority beside the old one, wait until every client has it, swap the serving certificate, drop the
 * old authority.
 */

import { issuedAt, KEEP_OLD_AUTHORITY_MS, renewalOf, SETTLE_MS, type Validity } from "./lifetime.ts";

export interface CertificateState {
  /** The Secret of the authority; absent: there is none. */
  readonly authority?: {
    /** Absent: its content cannot sign. */
    readonly certificate?: Validity;
  };
  /** The Secret of the serving certificate; absent: there is none. */
  readonly serving?: {
    /** Absent: its content cannot be served under the operator's names. */
    readonly leaf?: Leaf;
    /** The published authorities. */
    readonly bundle: readonly Validity[];
  };
  /** When all callers were first seen to trust the authority; absent: not all of them do, or it was not checked. */
  readonly trustedSince?: Date;
}

export interface Leaf extends Validity {
  /** Fingerprint of the published authority that signed it; absent: none did. */
  readonly signer?: string;
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

export function nextAction(state: CertificateState, now: Date): Action {
  const { authority, serving } = state;
  if (authority === undefined) return "CreateAuthority";
  const { certificate } = authority;
  if (certificate === undefined || renewalOf(certificate) <= now) return "ReplaceAuthority";
  if (serving === undefined) return "CreateServing";
  const { leaf, bundle } = serving;
  // No client can trust the current certificate, so there is nothing to wait for.
  if (leaf?.signer === undefined || leaf.notAfter <= now) return "IssueLeaf";
  if (!bundle.some(({ fingerprint }) => fingerprint === certificate.fingerprint)) return "PublishAuthority";
  if (leaf.signer !== certificate.fingerprint) return isSettled(state, now) ? "IssueLeaf" : "AwaitTrust";
  return renewalOf(leaf) <= now ? "IssueLeaf" : afterSwap(leaf, bundle, now);
}

function isSettled({ trustedSince }: CertificateState, now: Date): boolean {
  return trustedSince !== undefined && now.getTime() - trustedSince.getTime() >= SETTLE_MS;
}

function afterSwap(leaf: Leaf, bundle: readonly Validity[], now: Date): Action {
  const dropAt = issuedAt(leaf).getTime() + KEEP_OLD_AUTHORITY_MS;
  return bundle.length > 1 && now.getTime() >= dropAt ? "DropOldAuthorities" : "None";
}

/** While nothing is stored, any replica may write, because the API server accepts only one of the writes. */
export function needsLeader(action: Action): boolean {
  return action !== "CreateAuthority" && action !== "CreateServing";
}
