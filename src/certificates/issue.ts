/** Issues certificates. The library is loaded with the first one, because most processes never issue any. */

import { createPrivateKey, KeyObject, webcrypto } from "node:crypto";

import type * as X509 from "@peculiar/x509";

import type { KeyPair } from "../server/tls-server.ts";
import { AUTHORITY_LIFE_MS, BACKDATED_MS, LEAF_LIFE_MS } from "./lifetime.ts";

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
type Library = typeof X509;

/**
 * Creates an authority that can sign serving certificates but no other authority. Every authority has a name of its
 * own.
 */
export async function createAuthority(now: Date): Promise<KeyPair> {
  const x509 = await load();
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const { keyCertSign, cRLSign } = x509.KeyUsageFlags;
  const certificate = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [`hookpolicy-ca@${now.getTime()}`] }],
    keys,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(now.getTime() - BACKDATED_MS),
    notAfter: new Date(now.getTime() + AUTHORITY_LIFE_MS),
    extensions: [
      new x509.BasicConstraintsExtension(true, 0, true),
      // oxlint-disable-next-line no-bitwise -- the flags of an ASN.1 BIT STRING
      new x509.KeyUsagesExtension(keyCertSign | cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  return pairOf(certificate, keys.privateKey);
}

/** Issues a certificate for a server of these DNS names; it expires no later than its authority. */
export async function issueLeaf(
  authority: KeyPair,
  names: readonly [string, ...string[]],
  now: Date,
): Promise<KeyPair> {
  const x509 = await load();
  const issuer = new x509.X509Certificate(authority.cert);
  const signingKey = createPrivateKey(authority.key).toCryptoKey(ALGORITHM, false, ["sign"]);
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    // X.509 limits a common name to 64 characters; clients check the alternative names instead.
    subject: [{ CN: [names[0].slice(0, 64)] }],
    issuer: issuer.subject,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    notBefore: new Date(now.getTime() - BACKDATED_MS),
    notAfter: new Date(Math.min(now.getTime() + LEAF_LIFE_MS, issuer.notAfter.getTime())),
    extensions: [
      new x509.BasicConstraintsExtension(false, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
      new x509.ExtendedKeyUsageExtension([x509.ExtendedKeyUsage.serverAuth]),
      new x509.SubjectAlternativeNameExtension(names.map((value) => ({ type: "dns", value }) as const)),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
      await x509.AuthorityKeyIdentifierExtension.create(issuer.publicKey),
    ],
  });
  return pairOf(certificate, keys.privateKey);
}

async function load(): Promise<Library> {
  // @peculiar/x509 resolves its parts by decorators and does not load without it.
  await import("reflect-metadata");
  const x509 = await import("@peculiar/x509");
  x509.cryptoProvider.set(webcrypto);
  return x509;
}

function pairOf(certificate: InstanceType<Library["X509Certificate"]>, key: webcrypto.CryptoKey): KeyPair {
  return {
    cert: `${certificate.toString("pem").trim()}\n`,
    key: KeyObject.from(key).export({ type: "pkcs8", format: "pem" }).toString(),
  };
}

/** 124 random bits: a leading 0 keeps the ASN.1 integer positive (RFC 5280, 4.1.2.2). */
function serialNumber(): string {
  const digits = Buffer.from(webcrypto.getRandomValues(new Uint8Array(16))).toString("hex");
  return `0${digits.slice(1)}`;
}
