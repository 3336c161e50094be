/** Certificates, and several of them as PEM in one text. */

import { X509Certificate } from "node:crypto";

/** Those that cannot be read are not there. */
export function parseCertificates(pem: string): X509Certificate[] {
  const blocks = pem.match(/-----BEGIN CERTIFICATE-----[^-]+-----END CERTIFICATE-----/g) ?? [];
  return blocks.flatMap((block) => {
    try {
      return [new X509Certificate(block)];
    } catch {
      return [];
    }
  });
}

/** One text without repetitions, in the order given. */
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
