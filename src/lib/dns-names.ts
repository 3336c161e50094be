/** How Kubernetes names objects (apimachinery: util/validation), without the limits of length. */

/** IsDNS1123Label */
export const DNS_LABEL = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?$/;

/** IsDNS1123Subdomain */
export const DNS_SUBDOMAIN = /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/;
