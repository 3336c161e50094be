/** Reads, parses, checks and joins certificates and keys in PEM. */

import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";
import { createSecureContext } from "node:tls";

import { errorText } from "../lib/thrown.ts";
import type { KeyPair } from "../server/tls-server.ts";
import { type Lifetime, lifetimeOf } from "./lifetime.ts";

/** Rejects with a one-line Error that names `flag`, by which the user names the file. */
export async function readPem(path: string, flag: string): Promise<string> {
  return await readFile(path, "utf8").catch((cause: unknown) => {
    throw new Error(`cannot read ${path} (${flag})`, { cause });
  });
}

/** The certificates of a PEM file, each as text that may not be valid. */
export function certificateBlocks(pem: string): readonly string[] {
  return pem.match(/-----BEGIN CERTIFICATE-----[^-]*-----END CERTIFICATE-----/g) ?? [];
}

/** Skips certificates that cannot be read. */
export function parseCertificates(pem: string): X509Certificate[] {
  return certificateBlocks(pem).flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

/** Joins the certificates in the order given, without duplicates. */
export function joinCertificates(certificates: readonly X509Certificate[]): string {
  const byFingerprint = new Map(certificates.map((each) => [each.fingerprint256, each.toString()]));
  return [...byFingerprint.values()].map((pem) => `${pem.trim()}\n`).join("");
}

export function holds(pem: string, certificate: X509Certificate): boolean {
  return parseCertificates(pem).some(({ fingerprint256 }) => fingerprint256 === certificate.fingerprint256);
}

export function isSignedBy(certificate: X509Certificate, authority: X509Certificate): boolean {
  return certificate.checkIssued(authority) && certificate.verify(authority.publicKey);
}

/** A serving certificate and its key, checked. */
export interface CheckedPair extends KeyPair, Lifetime {}

/** Throws a one-line Error when the pair cannot serve TLS at `now`; the message never quotes the files. */
export function checkPair({ cert, key }: KeyPair, now: Date): CheckedPair {
  const leaf = parsed(
    "the certificate",
    /-----BEGIN CERTIFICATE-----/,
    cert,
    (pem) => new X509Certificate(pem),
  );
  const privateKey = parsed("the private key", /-----BEGIN [A-Z ]*PRIVATE KEY-----/, key, createPrivateKey);
  if (!leaf.checkPrivateKey(privateKey)) throw new Error("the private key does not match the certificate");
  const { notBefore, notAfter } = lifetimeOf(leaf);
  if (notAfter <= now) throw new Error(`the certificate expired at ${notAfter.toISOString()}`);
  try {
    createSecureContext({ cert, key, minVersion: "TLSv1.2" }); // also checks the chain, and key sizes that OpenSSL rejects
  } catch (error) {
    throw new Error(`TLS refuses the certificate: ${errorText(error)}`, { cause: error });
  }
  return { cert, key, notBefore, notAfter };
}

/** X509Certificate and createPrivateKey() also accept DER, which the TLS server does not. */
function parsed<T>(what: string, begin: RegExp, pem: string, parse: (pem: string) => T): T {
  if (!begin.test(pem)) throw new Error(`${what} is not PEM`);
  try {
    return parse(pem);
  } catch (error) {
    throw new Error(`${what} is not valid PEM`, { cause: error });
  }
}
