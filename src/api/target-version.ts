/** The version and the fields that a hook call is about. */

import {
  type HookCall,
  type HookName,
  MAX_VERSION,
  VERSION_FIELDS,
  VERSION_PATTERN,
} from "./runtime-hooks.ts";

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

export const READS_NOTHING: ReadonlySet<RequestField> = new Set();
export const READS_VERSION: ReadonlySet<RequestField> = new Set(["targetVersion"] as const);

/**
 * Why the field is unknown: Cluster API's requests have it, but this call was built without it, or the workers that an
 * upgrade comes from are gone. `undefined`: the call has what a request would have.
 */
export function unknownField(call: HookCall, field: RequestField): string | undefined {
  if (field === "hook") return undefined;
  if (field === "settings") {
    if (call.settings !== undefined) return undefined;
    return "request.settings is not known: no ExtensionConfig sets it, or several set different ones";
  }
  const value = field === "targetVersion" ? targetVersion(call) : call[field];
  if (value !== undefined || !sendsField(call.hook, field)) return undefined;
  const isOfWorkers = call.hook === "BeforeWorkersUpgrade" && field === "fromKubernetesVersion";
  const without = isOfWorkers ? ", while there are workers" : "";
  return `the Cluster does not show request.${field}, only calls of Cluster API have it${without}`;
}

/** Whether every request of the hook has this version. */
export function sendsField(hook: HookName, field: string): boolean {
  const fields: readonly string[] = VERSION_FIELDS[hook];
  return field === "targetVersion" ? fields.length > 0 : fields.includes(field);
}

const VERSION = new RegExp(VERSION_PATTERN);

export function isVersion(text: string): boolean {
  return text.length <= MAX_VERSION && VERSION.test(text);
}
