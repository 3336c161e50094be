/** Takes one step: creates the certificates that it needs and writes one Secret. */

import { createAuthority, issueLeaf } from "./issue.ts";
import { parseCertificates } from "./pem.ts";
import type { Action } from "./rotation.ts";
import type { SecretStore } from "./secret-store.ts";
import { bundleOf, dataOf, pairOf, type StoredCertificates } from "./stored-certificates.ts";

export interface Workplace {
  readonly store: Pick<SecretStore, "read" | "write">;
  /** The Secret of the serving certificate; the Secret of its authority is beside it. */
  readonly secretName: string;
  /** DNS names of the serving certificate. */
  readonly names: readonly [string, ...string[]];
  readonly stored: StoredCertificates;
  readonly now: Date;
  readonly signal: AbortSignal;
}

/** An action that writes a Secret. */
export type WriteAction = Exclude<Action, "None" | "AwaitTrust">;

export function authoritySecretName(secretName: string): string {
  return `${secretName}-ca`;
}

/** False: another client has changed the Secret meanwhile. */
export async function takeStep(
  action: WriteAction,
  { store, secretName, names, stored: { authority, serving }, now, signal }: Workplace,
): Promise<boolean> {
  if (action === "CreateAuthority" || action === "ReplaceAuthority") {
    const data = dataOf(await createAuthority(now));
    return await store.write(authoritySecretName(secretName), authority, data, signal);
  }
  if (authority === undefined) throw new Error("there is no certificate authority");
  const signing = pairOf(authority);
  const published = serving === undefined ? [] : parseCertificates(bundleOf(serving));
  const own = parseCertificates(signing.cert).slice(0, 1);
  // The new authority first, then those before it.
  const bundle = action === "DropOldAuthorities" ? own : [...own, ...published];
  const issues = action === "CreateServing" || action === "IssueLeaf";
  if (!issues && serving === undefined) throw new Error("there is no serving certificate");
  const pair = issues || serving === undefined ? await issueLeaf(signing, names, now) : pairOf(serving);
  return await store.write(secretName, serving, dataOf(pair, bundle), signal);
}
