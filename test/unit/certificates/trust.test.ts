import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { test } from "node:test";

import { createAuthority } from "../../../src/certificates/issue.ts";
import { KubeError } from "../../../src/kube/kube-error.ts";
import { distrusting as distrustingObjects } from "../../../src/certificates/trust.ts";
import type { CertificateWorld } from "../../../src/certificates/world.ts";
import { worldOf } from "./own-certificates-lab.ts";

const HOST = "hooks.system.svc";
const US = { namespace: "system", name: "hooks" };
const NOT_FOUND = new KubeError("gone", { code: 404, reason: "NotFound" });
const FORBIDDEN = new KubeError("forbidden", { code: 403, reason: "Forbidden" });

const authority = (await createAuthority(new Date())).cert;
const old = (await createAuthority(new Date(0))).cert;

interface Cluster {
  /** The versions of ExtensionConfig; absent: Cluster API is not installed. */
  readonly versions?: readonly string[];
  readonly extensions?: Readonly<Record<string, object>>;
  /** The caBundles of our webhooks; absent: there is no such configuration. */
  readonly webhooks?: readonly (string | undefined)[];
  readonly failure?: KubeError;
}

const base64 = (pem: string): string => Buffer.from(pem).toString("base64");
const metadataOf = (name: string): { name: string; uid: string; resourceVersion: string } => ({
  name,
  uid: "u",
  resourceVersion: "1",
});

async function distrusting({
  versions,
  extensions = {},
  webhooks,
  failure,
}: Cluster): Promise<readonly string[]> {
  const client: Pick<CertificateWorld["client"], "get" | "getPath" | "list"> = {
    get: async (_, { name }) => {
      if (failure !== undefined) throw failure;
      if (webhooks === undefined) throw NOT_FOUND;
      const configs = webhooks.map((caBundle) => ({ clientConfig: { caBundle } }));
      return { metadata: metadataOf(name), webhooks: configs } as Awaited<
        ReturnType<CertificateWorld["client"]["get"]>
      >;
    },
    getPath: async (path) => {
      assert.equal(path, "/apis/runtime.cluster.x-k8s.io");
      if (versions === undefined) throw NOT_FOUND;
      return { versions: versions.map((version) => ({ version })) };
    },
    list: (async ({ version, plural }: { version: string; plural: string }) => {
      assert.deepEqual([plural, version], ["extensionconfigs", versions?.toSorted().at(-1)]);
      const items = Object.entries(extensions).map(([name, clientConfig]) => ({
        metadata: metadataOf(name),
        spec: { clientConfig },
      }));
      return { items, resourceVersion: "1" };
    }) as CertificateWorld["client"]["list"],
  };
  const world = { ...worldOf({ client }), webhooks: ["hookpolicy"] };
  return await distrustingObjects(world, new X509Certificate(authority), new AbortController().signal);
}

const V = ["v1alpha1", "v1beta2"];
const CASES: Record<string, { cluster: Cluster; distrust: readonly string[] }> = {
  "there is no caller": { cluster: {}, distrust: [] },
  "all carry the new authority beside the old one": {
    cluster: {
      versions: V,
      extensions: { a: { service: US, caBundle: base64(`${authority}${old}`) } },
      webhooks: [base64(`${old}${authority}`), base64(authority)],
    },
    distrust: [],
  },
  "one webhook of ours carries the old one": {
    cluster: { webhooks: [base64(authority), base64(old)] },
    distrust: ["validatingwebhookconfigurations.admissionregistration.k8s.io hookpolicy"],
  },
  "a webhook of ours carries none": {
    cluster: { webhooks: [undefined] },
    distrust: ["validatingwebhookconfigurations.admissionregistration.k8s.io hookpolicy"],
  },
  "ExtensionConfigs of ours carry the old one, none, or nonsense": {
    cluster: {
      versions: V,
      extensions: {
        a: { service: US, caBundle: base64(old) },
        b: { service: { ...US, port: 443 } },
        c: { service: US, caBundle: "%%%" },
        d: { service: US, caBundle: base64(authority) },
      },
    },
    distrust: ["a", "b", "c"].map((name) => `extensionconfigs.runtime.cluster.x-k8s.io ${name}`),
  },
  "an ExtensionConfig names the Service by URL": {
    cluster: {
      versions: V,
      extensions: { a: { url: `https://${HOST}:443/` }, b: { url: `https://${HOST}.cluster.local` } },
    },
    distrust: ["a", "b"].map((name) => `extensionconfigs.runtime.cluster.x-k8s.io ${name}`),
  },
  "others call others": {
    cluster: {
      versions: V,
      extensions: {
        a: { service: { namespace: "system", name: "other" } },
        b: { service: { namespace: "other", name: "hooks" } },
        c: { url: "https://example.com" },
        d: { url: "nonsense" },
        e: {},
      },
    },
    distrust: [],
  },
  "Cluster API serves the old version only": {
    cluster: { versions: ["v1alpha1"], extensions: { a: { service: US } } },
    distrust: ["extensionconfigs.runtime.cluster.x-k8s.io a"],
  },
};
for (const [name, { cluster, distrust }] of Object.entries(CASES)) {
  test(`when ${name}: ${distrust.length} distrust`, async () => {
    assert.deepEqual(await distrusting(cluster), distrust);
  });
}

test("what may not be read is not trusted to be well", async () => {
  await assert.rejects(distrusting({ webhooks: [], failure: FORBIDDEN }), /forbidden/);
});

test("a Cluster API of which only versions are served that we do not know is not trusted to be well", async () => {
  await assert.rejects(distrusting({ versions: ["v7"] }), /neither v1beta2 nor v1alpha1 is served/);
});
