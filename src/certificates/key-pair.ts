/** A serving certificate and its key, checked. */

import { createPrivateKey, X509Certificate, type KeyObject } from "node:crypto";
import { createSecureContext } from "node:tls";

import { errorText } from "../lib/error-text.ts";
import type { KeyPair } from "../server/tls-server.ts";
import { type Lifetime, lifetimeOf } from "./lifetime.ts";

export interface CheckedPair extends KeyPair, Lifetime {}

/** Throws a one-line Error when the pair cannot serve TLS at `now`; the message never quotes the files. */
export function checkPair({ cert, key }: KeyPair, now: Date): CheckedPair {
  const leaf = parseCertificate(cert);
  if (!leaf.checkPrivateKey(parseKey(key))) throw new Error("the private key does not match the certificate");
  const { notBefore, notAfter } = lifetimeOf(leaf);
  if (notAfter <= now) throw new Error(`the certificate expired at ${notAfter.toISOString()}`);
  try {
    createSecureContext({ cert, key, minVersion: "TLSv1.2" }); // also checks the chain, and key sizes that OpenSSL rejects
  } catch (error) {
    throw new Error(`TLS refuses the certificate: ${errorText(error)}`, { cause: error });
  }
  return { cert, key, notBefore, notAfter };
}

function parseCertificate(pem: string): X509Certificate {
  // X509Certificate also accepts DER, which the TLS server does not.
  if (!pem.includes("-----BEGIN CERTIFICATE-----")) throw new Error("the certificate is not PEM");
  try {
    return new X509Certificate(pem);
  } catch (error) {
    throw new Error("the certificate is not valid PEM", { cause: error });
  }
}

function parseKey(pem: string): KeyObject {
  if (pem.includes("ENCRYPTED")) throw new Error("the private key is encrypted");
  if (!/-----BEGIN [A-Z ]*PRIVATE KEY-----/.test(pem)) throw new Error("the private key is not PEM");
  try {
    return createPrivateKey(pem);
  } catch (error) {
    throw new Error("the private key is not valid PEM", { cause: error });
  }
}
