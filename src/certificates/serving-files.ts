/** The serving certificate, its key and its authorities on disk. */

import { readFile } from "node:fs/promises";
import { join } from "node:path";

import { isMissing, unless } from "../lib/thrown.ts";
import { checkPair, type CheckedPair, readPem } from "./pem.ts";
import type { CertificateFiles } from "./settings.ts";

/** Rejects with a one-line Error if the pair cannot serve TLS at `now`. */
export async function readServingPair(files: CertificateFiles, now: Date): Promise<CheckedPair> {
  const { webhookCertDir: dir, webhookCertName, webhookKeyName } = files;
  const [cert, key] = await Promise.all([
    readPem(join(dir, webhookCertName), "--webhook-cert-name in --webhook-cert-dir"),
    readPem(join(dir, webhookKeyName), "--webhook-key-name in --webhook-cert-dir"),
  ]);
  try {
    return checkPair({ cert, key }, now);
  } catch (cause) {
    const both = `${join(dir, webhookCertName)} and ${webhookKeyName}`;
    throw new Error(`cannot use ${both} (--webhook-cert-dir)`, { cause });
  }
}

/** Reads ca.crt; `undefined`: there is no such file. */
export async function authoritiesIn(dir: string): Promise<string | undefined> {
  return await unless(isMissing, readFile(join(dir, "ca.crt"), "utf8"));
}
