/** The namespace of the operator's own objects. */

import { readFileSync } from "node:fs";

const NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace";
/** The namespace in the manifests. */
const DEFAULT_NAMESPACE = "hookpolicy-system";

/** The configured namespace, else that of the Pod, else the default. */
export function ownNamespace({ namespace }: { readonly namespace?: string }): string {
  return namespace ?? podNamespace() ?? DEFAULT_NAMESPACE;
}

function podNamespace(): string | undefined {
  try {
    return readFileSync(NAMESPACE_FILE, "utf8").trim() || undefined;
  } catch {
    return undefined; // not in a Pod
  }
}
