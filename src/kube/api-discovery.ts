/** Finds the resource that stores a kind, by the API server's discovery (metav1.APIResourceList). */

import { isFields } from "../lib/fields.ts";
import type { KubeClient } from "./kube-client.ts";
import { invalidResponse, KubeError } from "./kube-error.ts";
import type { Resource } from "./resource.ts";

/** Reasons of the KubeErrors (404, 404, 405) that discoverResource throws in addition to those of the request. */
export const KIND_NOT_SERVED = "KindNotServed";
export const KIND_TERMINATING = "KindTerminating";
export const KIND_NOT_WATCHABLE = "KindNotWatchable";

interface ServedResource {
  readonly name: string;
  readonly kind: string;
  readonly namespaced: boolean;
  readonly verbs: readonly unknown[];
}

/** Both values come from users' policies and become part of a path. DNS subdomain and label, as in apimachinery. */
const API_VERSION =
  /^(?:(?<group>[a-z0-9]([-a-z0-9.]*[a-z0-9])?)\/)?(?<version>[a-z0-9]([-a-z0-9]*[a-z0-9])?)$/;
const MAX_CHARS = 317; // 253, "/" and 63

interface Kind {
  readonly apiVersion: string;
  readonly kind: string;
}

/** Finds a kind whose objects can be listed and watched; throws a KubeError for every other kind. */
export async function discoverResource(
  client: Pick<KubeClient, "getPath">,
  kind: Kind,
  signal?: AbortSignal,
): Promise<Resource> {
  const { verbs, ...resource } = await discoverKind(client, kind, signal);
  if (!verbs.includes("list") || !verbs.includes("watch"))
    throw refusal(attemptOf(kind), 405, KIND_NOT_WATCHABLE);
  return resource;
}

function attemptOf({ kind, apiVersion }: Kind): string {
  return `discover ${kind} in ${apiVersion}`;
}

/** Finds a kind, and what can be done with its objects. Throws a KubeError if the kind is not served, or no longer. */
export async function discoverKind(
  client: Pick<KubeClient, "getPath">,
  { apiVersion, kind }: Kind,
  signal?: AbortSignal,
): Promise<Resource & { readonly verbs: readonly unknown[] }> {
  const attempt = attemptOf({ apiVersion, kind });
  const parsed = apiVersion.length > MAX_CHARS ? undefined : API_VERSION.exec(apiVersion)?.groups;
  if (parsed === undefined) throw refusal(attempt, 404, KIND_NOT_SERVED);
  const { group = "", version = "" } = parsed;
  const path = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const resources = listIn(attempt, "resources", await client.getPath(path, { signal })).filter(isServed);
  // A subresource has a kind of its own: "deployments/scale" is a Scale.
  const served = resources.find((found) => found.kind === kind && !found.name.includes("/"));
  if (served === undefined) throw refusal(attempt, 404, KIND_NOT_SERVED);
  const { name: plural, namespaced, verbs } = served;
  if (isTerminating(verbs)) throw refusal(attempt, 404, KIND_TERMINATING);
  return { group, version, plural, kind, namespaced, verbs };
}

/**
 * Whether the API server serves these objects in any version. A missing resource counts only when the answer lists a
 * group that must exist, because a 404 could also come from a proxy.
 */
export async function servesResource(
  client: Pick<KubeClient, "getPath">,
  { group, plural }: Pick<Resource, "group" | "plural">,
  besides: string,
): Promise<boolean> {
  const attempt = `discover ${plural}.${group}`;
  const groups = listIn(attempt, "groups", await client.getPath("/apis")).filter(isFields);
  if (!groups.some(({ name }) => name === besides)) throw invalidResponse(attempt, `no group ${besides}`);
  const found = groups.find(({ name }) => name === group);
  if (found === undefined) return false;
  for (const each of listIn(attempt, "versions", found)) {
    const version = isFields(each) ? each["version"] : undefined;
    if (typeof version !== "string") throw invalidResponse(attempt, "a version without a name");
    const resources = listIn(attempt, "resources", await client.getPath(`/apis/${group}/${version}`));
    if (resources.some((resource) => isFields(resource) && resource["name"] === plural)) return true;
  }
  return false;
}

/** The versions of a group, from its discovery (metav1.APIGroup), in the API server's order. */
export function versionsOf(group: unknown): readonly string[] {
  // oxlint-disable-next-line typescript/no-unsafe-type-assertion -- metav1.APIGroup, from the API server itself
  const { versions = [] } = group as { versions?: readonly { readonly version: string }[] };
  return versions.map(({ version }) => version);
}

function listIn(attempt: string, field: string, body: unknown): readonly unknown[] {
  const list = isFields(body) ? body[field] : undefined;
  if (!Array.isArray(list)) throw invalidResponse(attempt, `no list of ${field}`);
  return list;
}

function isServed(value: unknown): value is ServedResource {
  return (
    isFields(value) &&
    typeof value["name"] === "string" &&
    typeof value["kind"] === "string" &&
    typeof value["namespaced"] === "boolean" &&
    Array.isArray(value["verbs"])
  );
}

/**
 * While a CustomResourceDefinition is being deleted, its objects are deleted first and are still served, so missing
 * objects prove nothing. Discovery then offers only these verbs (customresource_discovery_controller.go).
 */
function isTerminating(verbs: readonly unknown[]): boolean {
  return verbs.includes("delete") && !["create", "update", "patch"].some((verb) => verbs.includes(verb));
}

function refusal(attempt: string, code: 404 | 405, reason: string): KubeError {
  return new KubeError(`${attempt}: ${reason}`, { code, reason });
}
