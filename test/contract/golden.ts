/** The bodies of test/contract/golden/: one per line, in the order of HOOK_NAMES (see the README there). */

import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

import { HOOK_NAMES, type HookName } from "../../src/api/runtime-hooks.ts";

export const GOLDEN = join(import.meta.dirname, "golden");

export const CLUSTER_VERSIONS = ["v1beta2", "v1beta1"] as const;
export type ClusterVersion = (typeof CLUSTER_VERSIONS)[number];

export function goldenRequest(version: ClusterVersion, hook: HookName): Buffer {
  return Buffer.from(line(`requests.${version}`, HOOK_NAMES.indexOf(hook)));
}

export function goldenDiscoveryRequest(): Buffer {
  return Buffer.from(line("requests.discovery", 0));
}

export function goldenResponse(situation: string, hook: HookName): string {
  return line(`responses.${situation}`, HOOK_NAMES.indexOf(hook));
}

export function goldenDiscovery(minor: number): string {
  return line(`discovery.1.${minor}`, 0);
}

export function writeGolden(file: string, lines: readonly string[]): void {
  writeFileSync(join(GOLDEN, `${file}.jsonl`), `${lines.join("\n")}\n`);
}

const files = new Map<string, readonly string[]>();

function line(name: string, index: number): string {
  const file = name === "paths.txt" ? name : `${name}.jsonl`;
  const lines = files.get(file) ?? readFileSync(join(GOLDEN, file), "utf8").split("\n");
  files.set(file, lines);
  const found = lines[index];
  if (found === undefined || found === "") throw new Error(`golden/${file} has no line ${index + 1}`);
  return found;
}

export function discoveryPath(): string {
  return line("paths.txt", 0);
}

interface Discovery {
  readonly handlers: readonly { readonly name: string; readonly requestHook: { readonly hook: string } }[];
}

/** As Cluster API makes it, from the handler's name that discovery told it, and not from the operator's own table. */
export function pathOf(hook: HookName): string {
  const discovery: Discovery = JSON.parse(goldenDiscovery(14));
  const handler = discovery.handlers.find(({ requestHook }) => requestHook.hook === hook);
  if (handler === undefined) throw new Error(`discovery names no handler for ${hook}`);
  return line("paths.txt", 1 + HOOK_NAMES.indexOf(hook)).replace(/handler$/, handler.name);
}
