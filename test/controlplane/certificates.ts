/** A private certificate authority per control plane: nothing is shared between runs, nothing outlives one. */
// @peculiar/x509 resolves its parts by decorators and refuses to load without it.
import "reflect-metadata"; // oxlint-disable-line import/no-unassigned-import -- it has no exports
import { generateKeyPairSync, webcrypto } from "node:crypto";
import { isIP } from "node:net";
import * as x509 from "@peculiar/x509";

x509.cryptoProvider.set(webcrypto);

const ALGORITHM = { name: "ECDSA", namedCurve: "P-256", hash: "SHA-256" } as const;
const DAY_MS = 24 * 60 * 60 * 1000;

export interface KeyPair {
  /** PEM */
  readonly certificate: string;
  /** PEM, PKCS#8 */
  readonly key: string;
}

export interface CertificateRequest {
  readonly commonName: string;
  /** DNS names and IP addresses. Without any, the certificate only serves as a client's. */
  readonly names?: readonly string[];
  /** Kubernetes reads a client's groups from the subject's organizations. */
  readonly organizations?: readonly string[];
  readonly validMs?: number;
}

export interface CertificateAuthority extends KeyPair {
  /** What a `caBundle` field holds: base64 of the PEM. */
  readonly caBundle: string;
  /** Issues a certificate that both a server and a client may present. */
  readonly issue: (request: CertificateRequest) => Promise<KeyPair>;
}

export async function createCertificateAuthority(
  commonName = "hookpolicy test CA",
): Promise<CertificateAuthority> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const root = await x509.X509CertificateGenerator.createSelfSigned({
    serialNumber: serialNumber(),
    name: [{ CN: [commonName] }],
    keys,
    signingAlgorithm: ALGORITHM,
    ...validity(DAY_MS),
    extensions: [
      new x509.BasicConstraintsExtension(true, undefined, true),
      new x509.KeyUsagesExtension(x509.KeyUsageFlags.keyCertSign | x509.KeyUsageFlags.cRLSign, true),
      await x509.SubjectKeyIdentifierExtension.create(keys.publicKey),
    ],
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return await loadCertificateAuthority({
    certificate: root.toString("pem"),
    key: x509.PemConverter.encode(key, "PRIVATE KEY"),
  });
}

/** The authority that another process has created. */
export async function loadCertificateAuthority({ certificate, key }: KeyPair): Promise<CertificateAuthority> {
  const root = new x509.X509Certificate(certificate);
  const pkcs8 = x509.PemConverter.decodeFirst(key);
  const signingKey = await webcrypto.subtle.importKey("pkcs8", pkcs8, ALGORITHM, false, ["sign"]);
  return {
    certificate,
    key,
    caBundle: Buffer.from(certificate).toString("base64"),
    issue: (request) => issue(request, root, signingKey),
  };
}

async function issue(
  request: CertificateRequest,
  root: x509.X509Certificate,
  signingKey: webcrypto.CryptoKey,
): Promise<KeyPair> {
  const keys = await webcrypto.subtle.generateKey(ALGORITHM, true, ["sign", "verify"]);
  const { clientAuth, serverAuth } = x509.ExtendedKeyUsage;
  const extensions: x509.Extension[] = [
    new x509.BasicConstraintsExtension(false, undefined, true),
    new x509.KeyUsagesExtension(x509.KeyUsageFlags.digitalSignature, true),
    new x509.ExtendedKeyUsageExtension([serverAuth, clientAuth] as x509.ExtendedKeyUsageType[]),
    await x509.AuthorityKeyIdentifierExtension.create(root.publicKey),
  ];
  if (request.names !== undefined) {
    const names = request.names.map((value) => ({ type: isIP(value) === 0 ? "dns" : "ip", value }) as const);
    extensions.push(new x509.SubjectAlternativeNameExtension(names));
  }
  const certificate = await x509.X509CertificateGenerator.create({
    serialNumber: serialNumber(),
    subject: [{ CN: [request.commonName] }, ...(request.organizations ?? []).map((o) => ({ O: [o] }))],
    issuer: root.subject,
    publicKey: keys.publicKey,
    signingKey,
    signingAlgorithm: ALGORITHM,
    ...validity(request.validMs ?? DAY_MS),
    extensions,
  });
  const key = await webcrypto.subtle.exportKey("pkcs8", keys.privateKey);
  return { certificate: certificate.toString("pem"), key: x509.PemConverter.encode(key, "PRIVATE KEY") };
}

/** The key that signs ServiceAccount tokens, in SEC 1: client-go keyutil takes no ECDSA key in PKCS#8. */
export function serviceAccountKey(): string {
  const { privateKey } = generateKeyPairSync("ec", { namedCurve: "P-256" });
  return privateKey.export({ type: "sec1", format: "pem" }).toString();
}

/** Backdated: a second's difference between two clocks, or X.509's whole seconds, must not fail a test. */
function validity(ms: number): { notBefore: Date; notAfter: Date } {
  const now = Date.now();
  return { notBefore: new Date(now - 60 * 60 * 1000), notAfter: new Date(now + ms) };
}

function serialNumber(): string {
  // A leading 0 keeps the ASN.1 integer positive (RFC 5280, 4.1.2.2).
  return `0${Buffer.from(webcrypto.getRandomValues(new Uint8Array(16)))
    .toString("hex")
    .slice(1)}`;
}
