/**
 * What is to be done next about our own certificates, from what is stored and nothing else: whoever continues after a
 * crash, or on another replica, comes to the same step. The order keeps every client trusting what is served: the new
 * authority is published beside the old one, everybody has it, the serving certificate is swapped, the old one goes.
 */

import { issuedAt, KEEP_OLD_AUTHORITY_MS, renewalOf, SETTLE_MS, type Validity } from "./lifetime.ts";

export interface State {
  /** The Secret of the authority; absent: there is none. */
  readonly authority?: {
    /** Absent: what it holds cannot sign. */
    readonly certificate?: Validity;
  };
  /** The Secret of the serving certificate; absent: there is none. */
  readonly serving?: {
    /** Absent: what it holds cannot be served under our names. */
    readonly leaf?: Leaf;
    /** The authorities that are published. */
    readonly bundle: readonly Validity[];
  };
  /** Since when all that call us have been seen to trust the authority; absent: not all of them do, or nobody looked. */
  readonly trustedSince?: Date;
}

export interface Leaf extends Validity {
  /** Fingerprint of the published authority that has signed it; absent: none has. */
  readonly signer?: string;
}

export type Action =
  | "CreateAuthority"
  | "ReplaceAuthority"
  | "CreateServing"
  /** Add the authority to the bundle; the serving certificate stays. */
  | "PublishAuthority"
  /** Nothing to write: the objects that call us do not all trust the authority yet, or not for long enough. */
  | "AwaitTrust"
  /** A new serving certificate, and the authority in the bundle. */
  | "IssueLeaf"
  | "DropOldAuthorities"
  | "None";

export function nextStep(state: State, now: Date): Action {
  const { authority, serving } = state;
  if (authority === undefined) return "CreateAuthority";
  const { certificate } = authority;
  if (certificate === undefined || renewalOf(certificate) <= now) return "ReplaceAuthority";
  if (serving === undefined) return "CreateServing";
  const { leaf, bundle } = serving;
  // Nobody can trust it as it is: there is nothing to wait for.
  if (leaf?.signer === undefined || leaf.notAfter <= now) return "IssueLeaf";
  if (!bundle.some(({ fingerprint }) => fingerprint === certificate.fingerprint)) return "PublishAuthority";
  if (leaf.signer !== certificate.fingerprint) return isSettled(state, now) ? "IssueLeaf" : "AwaitTrust";
  return renewalOf(leaf) <= now ? "IssueLeaf" : afterSwap(leaf, bundle, now);
}

function isSettled({ trustedSince }: State, now: Date): boolean {
  return trustedSince !== undefined && now.getTime() - trustedSince.getTime() >= SETTLE_MS;
}

function afterSwap(leaf: Leaf, bundle: readonly Validity[], now: Date): Action {
  const dropAt = issuedAt(leaf).getTime() + KEEP_OLD_AUTHORITY_MS;
  return bundle.length > 1 && now.getTime() >= dropAt ? "DropOldAuthorities" : "None";
}

/** Where nothing is stored yet, whoever comes first may write: the API server takes one of them. */
export function needsLeader(action: Action): boolean {
  return action !== "CreateAuthority" && action !== "CreateServing";
}
