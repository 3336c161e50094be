/** What a hook call is about. */

import type { HookCall } from "../api/runtimehooks.ts";

/** The version that a call is about: to…, else kubernetesVersion. */
export function targetVersion(call: HookCall): string | undefined {
  return call.toKubernetesVersion ?? call.kubernetesVersion;
}

/** Longer ones are nobody's, and would be kept and logged. */
export const MAX_VERSION = 64;

/** "v" and a semantic version, as Cluster API itself wants it (util/version: KubeSemver); JSON Schema uses the text, too. */
export const VERSION_PATTERN = "^v(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)\\.(0|[1-9][0-9]*)([-0-9a-zA-Z_.+]*)?$";

const VERSION = new RegExp(VERSION_PATTERN);

export function isVersion(text: string): boolean {
  return text.length <= MAX_VERSION && VERSION.test(text);
}
