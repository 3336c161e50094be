/** Reads which objects call the operator, and by which authority each trusts the serving certificate. */

import type { X509Certificate } from "node:crypto";

import { type Fields, fieldsOf, isFields, textOf } from "../lib/fields.ts";
import { holds } from "./pem.ts";
import { unlessNotFound } from "../kube/kube-error.ts";
import { type KubeObject, resourceName } from "../kube/resource.ts";
import { VALIDATING_WEBHOOKS } from "../kube/resources.ts";
import { webhooksOf } from "./ca-bundle.ts";
import { extensionConfigsOf, RUNTIME_GROUP_PATH } from "../kube/extension-configs.ts";
import type { CertificateWorld } from "./world.ts";

/** Names, for people, the objects by which callers reach the operator and that do not trust `authority`. */
export async function distrusting(
  world: CertificateWorld,
  authority: X509Certificate,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const found = await Promise.all([
    ...world.webhooks.map((name) => distrustingWebhook(world.client, name, authority, signal)),
    distrustingExtensions(world, authority, signal),
  ]);
  return found.flat();
}

async function distrustingWebhook(
  client: CertificateWorld["client"],
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
  world: CertificateWorld,
  authority: X509Certificate,
  signal: AbortSignal,
): Promise<readonly string[]> {
  const group = await unlessNotFound(world.client.getPath(RUNTIME_GROUP_PATH, { signal }));
  if (group === undefined) return []; // Cluster API is not installed
  const resource = extensionConfigsOf(group);
  const { items } = await world.client.list(resource, { signal });
  return items
    .filter((object) => callsUs(clientConfigOf(object), world))
    .filter((object) => !trustsBy(clientConfigOf(object)["caBundle"], authority))
    .map(({ metadata }) => `${resourceName(resource)} ${metadata.name}`);
}

function clientConfigOf({ spec }: KubeObject): Fields {
  return fieldsOf(fieldsOf(spec)["clientConfig"]);
}

function callsUs({ service, url }: Fields, { namespace, names, settings }: CertificateWorld): boolean {
  if (isFields(service))
    return service["namespace"] === namespace && service["name"] === settings.webhookServiceName;
  return typeof url === "string" && names.includes(URL.parse(url)?.hostname ?? "");
}

function trustsBy(caBundle: unknown, authority: X509Certificate): boolean {
  return holds(Buffer.from(textOf(caBundle), "base64").toString("utf8"), authority);
}
