/** What a hook call is about. */

import { type HookCall, VERSION_FIELDS } from "../api/runtimehooks.ts";

/** The version that a call is about: to…, else kubernetesVersion. */
export function targetVersion(call: HookCall): string | undefined {
  return call.toKubernetesVersion ?? call.kubernetesVersion;
}

export const REQUEST_FIELDS = [
  "hook",
  "fromKubernetesVersion",
  "toKubernetesVersion",
  "kubernetesVersion",
  "targetVersion",
  "settings",
] as const;

export type RequestField = (typeof REQUEST_FIELDS)[number];

/**
 * Why nothing can be said of the field: Cluster API's requests have it, and what is known of this call without one has not.
 * `undefined`: what the call has is what a request would have.
 */
export function unknownField(call: HookCall, field: RequestField): string | undefined {
  if (field === "hook") return undefined;
  if (field === "settings") {
    if (call.settings !== undefined) return undefined;
    return "request.settings is not known: no ExtensionConfig tells it, or several tell different ones";
  }
  const fields = VERSION_FIELDS[call.hook];
  const isKnown =
    field === "targetVersion"
      ? fields.length === 0 || targetVersion(call) !== undefined
      : !fields.includes(field) || call[field] !== undefined;
  return isKnown
    ? undefined
    : `the Cluster does not show request.${field}, only calls of Cluster API tell it`;
}

/** Longer ones are nobody's, and would be kept and logged. */
export const MAX_VERSION = 64;

/** "v" and a semantic version, as Cluster API itself wants it (util/version: KubeSemver); JSON Schema uses the text, too. */
export const VERSION_PATTERN = "^v(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)([-0-9a-zA-Z_.+]*)?$";

const VERSION = new RegExp(VERSION_PATTERN);

export function isVersion(text: string): boolean {
  return text.length <= MAX_VERSION && VERSION.test(text);
}
