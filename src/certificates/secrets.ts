/** Reads and writes the operator's certificates as Secrets. Failures reject, and the next look starts again. */

import type { X509Certificate } from "node:crypto";

import { fieldsOf } from "../lib/fields.ts";
import { unless } from "../lib/thrown.ts";
import { SECRETS } from "../kube/resources.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isAlreadyExists, isReplaced, unlessNotFound } from "../kube/kube-error.ts";
import type { KubeObject, ObjectKey } from "../kube/resource.ts";
import type { KeyPair } from "../server/tls-server.ts";
import { joinCertificates } from "./pem.ts";

export interface StoredSecret {
  readonly uid: string;
  readonly resourceVersion: string;
  /** Whether HookPolicy created the Secret; it leaves other Secrets alone. */
  readonly ours: boolean;
  readonly data: SecretData;
}

/** Decoded values, not base64: the keys of the type kubernetes.io/tls, and ca.crt. */
export type SecretData = Readonly<Record<string, string>>;

export function pairOf({ data }: StoredSecret): KeyPair {
  return { cert: data["tls.crt"] ?? "", key: data["tls.key"] ?? "" };
}

/** The authorities that clients should trust, from the serving certificate's Secret. */
export function bundleOf({ data }: StoredSecret): string {
  return data["ca.crt"] ?? "";
}

/** `bundle`: the authorities that clients should trust; absent in the Secret of the authority itself. */
export function dataOf({ cert, key }: KeyPair, bundle?: readonly X509Certificate[]): SecretData {
  return { "tls.crt": cert, "tls.key": key, ...(bundle && { "ca.crt": joinCertificates(bundle) }) };
}

const NAME_LABEL = "app.kubernetes.io/name";
/** "hookpolicy" on an object that HookPolicy has created. */
const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";

export async function readSecret(
  client: Pick<KubeClient, "get">,
  key: ObjectKey,
  signal: AbortSignal,
): Promise<StoredSecret | undefined> {
  const found = await unlessNotFound(client.get(SECRETS, key, { signal }));
  return found && view(found);
}

/** Replaces the Secret that was `read`, or creates it. `undefined`: it has changed, or another replica created it first. */
export async function writeSecret(
  client: Pick<KubeClient, "create" | "mergePatch">,
  key: ObjectKey,
  { read, data }: { readonly read: StoredSecret | undefined; readonly data: SecretData },
  signal: AbortSignal,
): Promise<StoredSecret | undefined> {
  const encoded = Object.fromEntries(
    Object.entries(data).map(([name, value]) => [name, Buffer.from(value).toString("base64")]),
  );
  if (read === undefined) {
    const labels = { [NAME_LABEL]: "hookpolicy", [MANAGED_BY_LABEL]: "hookpolicy" };
    const { version: apiVersion, kind } = SECRETS;
    const content = { type: "kubernetes.io/tls", data: encoded };
    const secret = { apiVersion, kind, metadata: { ...key, labels }, ...content };
    const created = await unless(isAlreadyExists, client.create(SECRETS, secret, { signal }));
    return created && view(created);
  }
  const { uid, resourceVersion } = read;
  const patch = { metadata: { uid, resourceVersion }, data: encoded };
  const patched = await unless(isReplaced, client.mergePatch(SECRETS, key, patch, { signal }));
  return patched && view(patched);
}

function view(secret: KubeObject): StoredSecret {
  const { uid, resourceVersion, labels } = secret.metadata;
  const encoded = Object.entries(fieldsOf("data" in secret ? secret.data : undefined));
  const data = encoded.map(([key, value]) => [key, Buffer.from(String(value), "base64").toString("utf8")]);
  const ours = labels?.[MANAGED_BY_LABEL] === "hookpolicy";
  return { uid, resourceVersion, ours, data: Object.fromEntries(data) };
}
