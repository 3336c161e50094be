/** Kinds of other projects, which nobody acts on here. */

import type { KubeObject } from "./client.ts";

/** Stands in for the real kind: same group, version and kind, any fields, and nobody who acts on it. */
export function definition(
  group: string,
  version: string,
  kind: string,
  plural = `${kind.toLowerCase()}s`,
): KubeObject {
  const schema = { type: "object", "x-kubernetes-preserve-unknown-fields": true };
  return {
    apiVersion: "apiextensions.k8s.io/v1",
    kind: "CustomResourceDefinition",
    metadata: { name: `${plural}.${group}` },
    spec: {
      group,
      scope: "Namespaced",
      names: { kind, plural, singular: kind.toLowerCase(), listKind: `${kind}List` },
      versions: [{ name: version, served: true, storage: true, schema: { openAPIV3Schema: schema } }],
    },
  };
}
