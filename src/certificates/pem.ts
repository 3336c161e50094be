/** Reads, parses and joins certificates in PEM. */

import { X509Certificate } from "node:crypto";
import { readFile } from "node:fs/promises";

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
