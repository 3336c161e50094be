/** How Kubernetes names objects (apimachinery: util/validation). The patterns have no limits of length. */

/** Of a label (IsDNS1123Label), and of most names of ours. */
export const LABEL_LETTERS = 63;

/** IsDNS1123Label */
export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** IsDNS1123Subdomain */
export const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;

/** IsValidPathSegmentName */
export function isObjectName(name: unknown): name is string {
  return typeof name === "string" && /^[^/%]{1,253}$/.test(name) && name !== "." && name !== "..";
}
