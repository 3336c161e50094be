/** Stores the operator's certificates as Secrets. */

import { isFields } from "../api/fields.ts";
import type { SecretData, StoredSecret } from "./stored.ts";
import type { SecretStore } from "./rotationsteps.ts";
import { SECRETS } from "../kube/resources.ts";
import type { KubeClient } from "../kube/kubeclient.ts";
import { isAlreadyExists, isConflict, isNotFound, unlessNotFound } from "../kube/kubeerror.ts";
import type { KubeObject } from "../kube/resource.ts";

/** Labels of objects that HookPolicy has created. */
const OURS = { "app.kubernetes.io/managed-by": "hookpolicy" };

export type SecretClient = Pick<KubeClient, "get" | "create" | "mergePatch">;

export function createSecretStore(client: SecretClient, namespace: string): SecretStore {
  return {
    read: async (name, signal) => {
      const found = await unlessNotFound(client.get(SECRETS, { namespace, name }, { signal }));
      return found === undefined ? undefined : view(found);
    },
    create: async (name, data, signal) => {
      const metadata = { namespace, name, labels: { "app.kubernetes.io/name": "hookpolicy", ...OURS } };
      const secret = {
        apiVersion: "v1",
        kind: "Secret",
        metadata,
        type: "kubernetes.io/tls",
        data: encode(data),
      };
      return (await unless(isAlreadyExists, client.create(SECRETS, secret, { signal }))) !== undefined;
    },
    replace: async (name, { uid, resourceVersion }, data, signal) => {
      const patch = { metadata: { uid, resourceVersion }, data: encode(data) };
      const patched = client.mergePatch(SECRETS, { namespace, name }, patch, { signal });
      return (await unless((error) => isConflict(error) || isNotFound(error), patched)) !== undefined;
    },
  };
}

function view(secret: KubeObject): StoredSecret {
  const { uid, resourceVersion, labels } = secret.metadata;
  const raw = "data" in secret && isFields(secret.data) ? secret.data : {};
  const decoded = Object.entries(raw).map(([key, value]) => [
    key,
    Buffer.from(String(value), "base64").toString("utf8"),
  ]);
  const ours = Object.entries(OURS).every(([key, value]) => labels?.[key] === value);
  return { uid, resourceVersion, ours, data: Object.fromEntries(decoded) };
}

function encode(data: SecretData): Record<string, string> {
  return Object.fromEntries(
    Object.entries(data).map(([key, value]) => [key, Buffer.from(value).toString("base64")]),
  );
}

async function unless<T>(expected: (error: unknown) => boolean, work: Promise<T>): Promise<T | undefined> {
  try {
    return await work;
  } catch (error) {
    if (expected(error)) return undefined;
    throw error;
  }
}
