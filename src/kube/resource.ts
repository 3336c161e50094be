import type { ObjectMeta } from "../api/meta.ts";
import { KubeError } from "./kube-error.ts";

/** One served kind; `group` "" is the core group. */
export interface Resource {
  readonly group: string;
  readonly version: string;
  readonly plural: string;
  readonly kind: string;
  readonly namespaced: boolean;
}

export interface ObjectKey {
  readonly namespace?: string;
  readonly name: string;
}

export interface KubeObject {
  readonly apiVersion?: string;
  readonly kind?: string;
  readonly metadata: ObjectMeta;
  readonly spec?: unknown;
  readonly status?: unknown;
}

/** Takes the values of a row of `kubectl api-resources`. */
export function apiResource(plural: string, apiVersion: string, namespaced: boolean, kind: string): Resource {
  const [version = "", group = ""] = apiVersion.split("/").toReversed();
  return { group, version, plural, kind, namespaced };
}

/** Formats a metav1.MicroTime, whose seconds have exactly six decimal places. */
export function microTime(date: Date): string {
  return date.toISOString().replace("Z", "000Z");
}

/** "clusters.cluster.x-k8s.io", as kubectl names it. */
export function resourceName(resource: Resource): string {
  return resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`;
}

/** The path of all objects, or of those in one namespace. */
export function collectionPath(resource: Resource, namespace?: string): string {
  const { group, version, plural, namespaced } = resource;
  const root = group === "" ? `/api/${version}` : `/apis/${group}/${version}`;
  const scope = namespaced && namespace !== undefined ? `/namespaces/${segment(resource, namespace)}` : "";
  return `${root}${scope}/${plural}`;
}

/** The path of one object. */
export function objectPath(resource: Resource, key: ObjectKey): string {
  const namespace = resource.namespaced ? (key.namespace ?? "") : undefined;
  return `${collectionPath(resource, namespace)}/${segment(resource, key.name)}`;
}

/**
 * Names come from users' policies and can be computed: an empty name would list, and ".." or "/" would leave the
 * collection. This is the rule of apimachinery's IsValidPathSegmentName.
 */
function segment(resource: Resource, name: string): string {
  if (name === "" || name === "." || name === ".." || /[/%]/.test(name)) {
    const message = `${resourceName(resource)}: bad request: ${JSON.stringify(name)} is not a valid name`;
    throw new KubeError(message, { code: 400, reason: "BadRequest" });
  }
  return encodeURIComponent(name);
}
