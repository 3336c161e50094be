/**
 * Policies, overrides and rollouts with a known verdict. An invalid one has exactly one thing wrong, and starts with two comments:
 * the path of the wrong field, and a part of what validatePolicy says about it.
 */

import { globSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { parse } from "yaml";
import type { KubeObject } from "../controlplane/client.ts";

export interface ValidPolicy {
  readonly name: string;
  readonly object: KubeObject;
}

export interface InvalidPolicy extends ValidPolicy {
  readonly path: string;
  readonly says: string;
}

/** Read as kubectl reads YAML: version 1.1. */
function read(folder: string): (ValidPolicy & { readonly source: string })[] {
  const cwd = join(import.meta.dirname, folder);
  const files = globSync("*.yaml", { cwd }).toSorted();
  return files.map((file) => {
    const source = readFileSync(join(cwd, file), "utf8");
    return { name: file.replace(".yaml", ""), source, object: parse(source, { version: "1.1" }) };
  });
}

export function validCorpus(): ValidPolicy[] {
  return read("valid");
}

export function invalidCorpus(): InvalidPolicy[] {
  return read("invalid").map(({ name, object, source }) => {
    const [, path, says] = /^# path: (.+)\n# says: (.+)\n/.exec(source) ?? [];
    if (path === undefined || says === undefined) throw new Error(`${name}.yaml lacks its comments`);
    return { name, object, path, says };
  });
}

export type Kind = "HookPolicy" | "ClusterHookPolicy" | "HookOverride" | "HookRollout";

export function kindOf({ kind }: KubeObject): Kind {
  return kind === "ClusterHookPolicy" || kind === "HookOverride" || kind === "HookRollout"
    ? kind
    : "HookPolicy";
}
