/** Reads which objects call the operator, and by which authority each trusts the serving certificate. */

import type { X509Certificate } from "node:crypto";

import { type Fields, fieldsOf, isFields, textOf } from "../lib/fields.ts";
import { holds } from "./pem.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { unlessNotFound } from "../kube/kube-error.ts";
import { type KubeObject, resourceName } from "../kube/resource.ts";
import { VALIDATING_WEBHOOKS } from "../kube/resources.ts";
import { webhooksOf } from "./ca-bundle.ts";
import { extensionConfigsOf, RUNTIME_GROUP_PATH } from "../kube/extension-configs.ts";

export interface TrustOptions {
  readonly client: Pick<KubeClient, "get" | "list" | "getPath">;
  readonly service: { readonly namespace: string; readonly name: string };
  /** The DNS names of the operator's Service. */
  readonly names: readonly string[];
  /** Names of the ValidatingWebhookConfigurations that call the operator. */
  readonly webhooks: readonly string[];
}

/** Names, for people, the objects by which callers reach the operator and that do not trust `authority`. */
export async function distrusting(
  options: TrustOptions,
  authority: X509Certificate,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = await Promise.all([
    ...options.webhooks.map((name) => distrustingWebhook(options.client, name, authority, signal)),
    distrustingExtensions(options, authority, signal),
  ]);
  return found.flat();
}

async function distrustingWebhook(
  client: TrustOptions["client"],
  name: string,
  authority: X509Certificate,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const object = await unlessNotFound(client.get(VALIDATING_WEBHOOKS, { name }, { signal }));
  const trusts =
    object === undefined ||
    webhooksOf(object).every(({ clientConfig }) => trustsBy(clientConfig?.caBundle, authority));
  return trusts ? [] : [`${resourceName(VALIDATING_WEBHOOKS)} ${name}`];
}

async function distrustingExtensions(
  options: TrustOptions,
  authority: X509Certificate,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const group = await unlessNotFound(options.client.getPath(RUNTIME_GROUP_PATH, { signal }));
  if (group === undefined) return []; // Cluster API is not installed
  const resource = extensionConfigsOf(group);
  const { items } = await options.client.list(resource, { signal });
  return items
    .filter((object) => callsUs(clientConfigOf(object), options))
    .filter((object) => !trustsBy(clientConfigOf(object)["caBundle"], authority))
    .map(({ metadata }) => `${resourceName(resource)} ${metadata.name}`);
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
  return holds(Buffer.from(textOf(caBundle), "base64").toString("utf8"), authority);
}
