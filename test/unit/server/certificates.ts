// oxlint-disable-next-line import/no-unassigned-import -- @peculiar/x509 does not load without it
import "reflect-metadata";

import { webcrypto } from "node:crypto";

import { SubjectAlternativeNameExtension, X509CertificateGenerator } from "@peculiar/x509";

import type { KeyPair } from "../../../src/server/tls-server.ts";

export interface Validity {
  readonly notBefore?: Date;
  readonly notAfter?: Date;
}

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" };
const HOUR_MS = 3_600_000;

/** A throwaway self-signed pair for localhost; `name` tells certificates apart. */
export async function issue(name: string, validity: Validity = {}): Promise<KeyPair> {
  // The real time: Date may be the clock of a test in another file of the same process.
  const now = performance.timeOrigin + performance.now();
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const certificate = await X509CertificateGenerator.createSelfSigned({
    name: `CN=${name}`,
    keys,
    signingAlgorithm: ALGORITHM,
    notBefore: validity.notBefore ?? new Date(now - HOUR_MS),
    notAfter: validity.notAfter ?? new Date(now + HOUR_MS),
    extensions: [
      new SubjectAlternativeNameExtension([
        { type: "dns", value: "localhost" },
        { type: "ip", value: "127.0.0.1" },
      ]),
    ],
  });
  const key = Buffer.from(await webcrypto.subtle.exportKey("pkcs8", keys.privateKey)).toString("base64");
  return {
    cert: certificate.toString("pem"),
    key: `-----BEGIN PRIVATE KEY-----\n${key.replace(/.{64}/g, "$&\n")}\n-----END PRIVATE KEY-----\n`,
  };
}
