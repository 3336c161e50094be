/** Reads which objects call the operator, and by which authority each trusts the serving certificate. */

import type { X509Certificate } from "node:crypto";

import { type Fields, isFields, fieldsOf } from "../api/fields.ts";
import type { TrustReader } from "./keeper.ts";
import { holds } from "./pem.ts";
import type { KubeClient } from "../kube/kubeclient.ts";
import { unlessNotFound } from "../kube/kubeerror.ts";
import { type KubeObject, type Resource, resourceName } from "../kube/resource.ts";
import type { CaBundleTarget } from "./cabundle.ts";
import { extensionConfigsOf, RUNTIME_GROUP_PATH } from "../kube/extensionconfigs.ts";

export interface TrustOptions {
  readonly client: Pick<KubeClient, "get" | "list" | "getPath">;
  readonly service: { readonly namespace: string; readonly name: string };
  /** The DNS names of the operator's Service. */
  readonly names: readonly string[];
  readonly webhooks: readonly CaBundleTarget[];
}

export function createTrustReader(options: TrustOptions): TrustReader {
  return {
    distrusting: async (authority, signal) => {
      const [webhooks, extensions] = await Promise.all([
        Promise.all(
          options.webhooks.map((target) => distrustingWebhook(options.client, target, { authority, signal })),
        ),
        distrustingExtensions(options, authority, signal),
      ]);
      return [...webhooks.flat(), ...extensions];
    },
  };
}

async function distrustingWebhook(
  client: TrustOptions["client"],
  { resource, name, bundles }: CaBundleTarget,
  { authority, signal }: { readonly authority: X509Certificate; readonly signal: AbortSignal },
): Promise<readonly string[]> {
  const object = await unlessNotFound(client.get(resource, { name }, { signal }));
  const trusts = object === undefined || bundles(object).every(({ value }) => trustsBy(value, authority));
  return trusts ? [] : [`${resourceName(resource)} ${name}`];
}

async function distrustingExtensions(
  options: TrustOptions,
  authority: X509Certificate,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const resource = await extensionResource(options, signal);
  if (resource === undefined) return [];
  const { items } = await options.client.list(resource, { signal });
  return items
    .filter((object) => callsUs(clientConfigOf(object), options))
    .filter((object) => !trustsBy(clientConfigOf(object)["caBundle"], authority))
    .map(({ metadata }) => `${resourceName(resource)} ${metadata.name}`);
}

/** Absent: Cluster API is not installed. */
async function extensionResource(
  { client }: TrustOptions,
  signal: AbortSignal,
): Promise<Resource | undefined> {
  const group = await unlessNotFound(client.getPath(RUNTIME_GROUP_PATH, { signal }));
  return group === undefined ? undefined : extensionConfigsOf(group);
}

function clientConfigOf({ spec }: KubeObject): Fields {
  return fieldsOf(fieldsOf(spec)["clientConfig"]);
}

function callsUs({ service, url }: Fields, options: Pick<TrustOptions, "service" | "names">): boolean {
  if (isFields(service)) {
    return service["namespace"] === options.service.namespace && service["name"] === options.service.name;
  }
  return typeof url === "string" && options.names.includes(URL.parse(url)?.hostname ?? "");
}

function trustsBy(caBundle: unknown, authority: X509Certificate): boolean {
  const pem = typeof caBundle === "string" ? Buffer.from(caBundle, "base64").toString("utf8") : "";
  return holds(pem, authority);
}
