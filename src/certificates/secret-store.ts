/** Stores the operator's certificates as Secrets. Failures reject, and the next look starts again. */

import { fieldsOf } from "../lib/fields.ts";
import { unless } from "../lib/thrown.ts";
import type { SecretData, StoredSecret } from "./stored-certificates.ts";
import { SECRETS } from "../kube/resources.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isAlreadyExists, isReplaced, unlessNotFound } from "../kube/kube-error.ts";
import type { KubeObject } from "../kube/resource.ts";

const NAME_LABEL = "app.kubernetes.io/name";
/** "hookpolicy" on an object that HookPolicy has created. */
const MANAGED_BY_LABEL = "app.kubernetes.io/managed-by";

export class SecretStore {
  readonly #client: Pick<KubeClient, "get" | "create" | "mergePatch">;
  readonly #namespace: string;

  constructor(client: Pick<KubeClient, "get" | "create" | "mergePatch">, namespace: string) {
    this.#client = client;
    this.#namespace = namespace;
  }

  async read(name: string, signal: AbortSignal): Promise<StoredSecret | undefined> {
    const key = { namespace: this.#namespace, name };
    const found = await unlessNotFound(this.#client.get(SECRETS, key, { signal }));
    return found && view(found);
  }

  /** Replaces the Secret that was `read`, or creates it. False: it has changed, or another replica created it first. */
  async write(
    name: string,
    read: StoredSecret | undefined,
    data: SecretData,
    signal: AbortSignal,
  ): Promise<boolean> {
    const [key, encoded] = [{ namespace: this.#namespace, name }, encode(data)];
    if (read === undefined) {
      const labels = { [NAME_LABEL]: "hookpolicy", [MANAGED_BY_LABEL]: "hookpolicy" };
      const { version: apiVersion, kind } = SECRETS;
      const content = { type: "kubernetes.io/tls", data: encoded };
      const secret = { apiVersion, kind, metadata: { ...key, labels }, ...content };
      return (await unless(isAlreadyExists, this.#client.create(SECRETS, secret, { signal }))) !== undefined;
    }
    const { uid, resourceVersion } = read;
    const patch = { metadata: { uid, resourceVersion }, data: encoded };
    const patched = this.#client.mergePatch(SECRETS, key, patch, { signal });
    return (await unless(isReplaced, patched)) !== undefined;
  }
}

function view(secret: KubeObject): StoredSecret {
  const { uid, resourceVersion, labels } = secret.metadata;
  const encoded = Object.entries(fieldsOf("data" in secret ? secret.data : undefined));
  const data = encoded.map(([key, value]) => [key, Buffer.from(String(value), "base64").toString("utf8")]);
  const ours = labels?.[MANAGED_BY_LABEL] === "hookpolicy";
  return { uid, resourceVersion, ours, data: Object.fromEntries(data) };
}

function encode(data: SecretData): Record<string, string> {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );
}
