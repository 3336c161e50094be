/** Takes one step: creates the certificates that it needs and writes one Secret. */

import type { X509Certificate } from "node:crypto";

import { createAuthority, issueLeaf } from "./issue.ts";
import { parseCertificates } from "./pem.ts";
import type { Action } from "./rotation.ts";
import type { KeyPair } from "../server/tls.ts";
import { bundleOf, dataOf, pairOf, type SecretData, type Stored, type StoredSecret } from "./stored.ts";

/** Stores the Secrets. Other failures reject, and the next look starts again. */
export interface SecretStore {
  read(name: string, signal: AbortSignal): Promise<StoredSecret | undefined>;
  /** False: another replica created it first. */
  create(name: string, data: SecretData, signal: AbortSignal): Promise<boolean>;
  /** False: the Secret has changed since it was read. */
  replace(name: string, read: StoredSecret, data: SecretData, signal: AbortSignal): Promise<boolean>;
}

export interface Workplace {
  readonly store: SecretStore;
  readonly secretName: string;
  readonly names: readonly [string, ...string[]];
  readonly stored: Stored;
  readonly now: Date;
  readonly signal: AbortSignal;
}

/** An action that writes a Secret. */
export type Writing = Exclude<Action, "None" | "AwaitTrust">;

export function authoritySecretName(secretName: string): string {
  return `${secretName}-ca`;
}

/** False: another client has changed the Secret meanwhile. */
export async function takeStep(action: Writing, at: Workplace): Promise<boolean> {
  switch (action) {
    case "CreateAuthority":
    case "ReplaceAuthority":
      return await writeAuthority(at);
    case "CreateServing":
    case "IssueLeaf":
      return await writeServing(at, await issueLeaf(signingPair(at), at.names, at.now), published(at));
    case "PublishAuthority":
      return await writeServing(at, servingPair(at), published(at));
    case "DropOldAuthorities":
      return await writeServing(at, servingPair(at), signingCertificates(at));
  }
}

async function writeAuthority({ store, secretName, stored, now, signal }: Workplace): Promise<boolean> {
  const name = authoritySecretName(secretName);
  const data = dataOf(await createAuthority(now));
  return stored.authority === undefined
    ? await store.create(name, data, signal)
    : await store.replace(name, stored.authority, data, signal);
}

async function writeServing(
  { store, secretName, stored, signal }: Workplace,
  pair: KeyPair,
  bundle: readonly X509Certificate[],
): Promise<boolean> {
  const data = dataOf(pair, bundle);
  return stored.serving === undefined
    ? await store.create(secretName, data, signal)
    : await store.replace(secretName, stored.serving, data, signal);
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
