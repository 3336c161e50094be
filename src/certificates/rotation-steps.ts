/** Takes one step: creates the certificates that it needs and writes one Secret. */

import type { X509Certificate } from "node:crypto";

import { createAuthority, issueLeaf } from "./issue.ts";
import { parseCertificates } from "./pem.ts";
import type { Action } from "./rotation.ts";
import type { KeyPair } from "../server/tls-server.ts";
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
export async function takeStep(action: WriteAction, at: Workplace): Promise<boolean> {
  switch (action) {
    case "CreateAuthority":
    case "ReplaceAuthority": {
      const { store, secretName, stored, now, signal } = at;
      const data = dataOf(await createAuthority(now));
      return await store.write(authoritySecretName(secretName), stored.authority, data, signal);
    }
    case "CreateServing":
    case "IssueLeaf":
      return await writeServing(at, await issueLeaf(signingPair(at), at.names, at.now), published(at));
    case "PublishAuthority":
      return await writeServing(at, servingPair(at), published(at));
    case "DropOldAuthorities":
      return await writeServing(at, servingPair(at), signingCertificates(at));
  }
}

async function writeServing(
  { store, secretName, stored, signal }: Workplace,
  pair: KeyPair,
  bundle: readonly X509Certificate[],
): Promise<boolean> {
  return await store.write(secretName, stored.serving, dataOf(pair, bundle), signal);
}

/** The new authority first, then those before it. */
function published(at: Workplace): X509Certificate[] {
  const old = at.stored.serving === undefined ? [] : parseCertificates(bundleOf(at.stored.serving));
  return [...signingCertificates(at), ...old];
}

function signingPair({ stored: { authority } }: Workplace): KeyPair {
  if (authority === undefined) throw new Error("there is no certificate authority");
  return pairOf(authority);
}

function signingCertificates(at: Workplace): X509Certificate[] {
  return parseCertificates(signingPair(at).cert).slice(0, 1);
}

function servingPair({ stored: { serving } }: Workplace): KeyPair {
  if (serving === undefined) throw new Error("there is no serving certificate");
  return pairOf(serving);
}
