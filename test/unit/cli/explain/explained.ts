/** `hookpolicy explain` over objects in a file. */

import assert from "node:assert/strict";
import type { TestContext } from "node:test";
import { folder, type Outcome, yaml } from "../program.ts";
import { rawCluster, rawFleetPolicy, rawNamespace, rawPolicy } from "../raw.ts";
import { hookpolicy } from "../resident.ts";

export const NOW = "2026-11-21T12:00:00Z";
export const NAMESPACE = rawNamespace({ labels: { env: "dev" } });
export const TOPOLOGY = { classRef: { name: "lab" }, version: "v1.35.0" };

export function cluster(meta: object = {}, spec: object = { topology: TOPOLOGY }): object {
  const labels = { tier: "production" };
  return { ...rawCluster({ uid: "5d2c", labels, ...meta }), spec };
}
export const DELETING = { deletionTimestamp: "2026-11-21T10:00:00Z" };

export const policy = (name: string, rules: readonly object[], over: object = {}): object =>
  rawPolicy(name, { rules, ...over });
export const fleetWide = (name: string, rules: readonly object[], over: object = {}): object =>
  rawFleetPolicy(name, { rules, ...over });

export const approved = { name: "approved", annotation: { key: "example.com/ok", valueFrom: "ClusterUID" } };
const UTC_NIGHT = { timeZone: "UTC", allow: [{ schedule: "0 22 * * *", duration: "4h" }] };
export const night = { name: "night", window: UTC_NIGHT };
export const deletion = (until: readonly object[], over: object = {}): object => ({
  name: "confirmed",
  hooks: ["BeforeClusterDelete"],
  until,
  ...over,
});

export async function run(
  t: TestContext,
  objects: readonly object[],
  ...args: readonly string[]
): Promise<Outcome> {
  const cwd = await folder(t, { "fleet.yaml": yaml(NAMESPACE, ...objects) });
  return await hookpolicy(["explain", "team-a/prod-1", "-f", "fleet.yaml", "--at", NOW, ...args], { cwd });
}

/** What was printed; nothing was complained about. */
export async function explained(...args: Parameters<typeof run>): Promise<string> {
  const { code, stdout, stderr } = await run(...args);
  assert.deepEqual({ code, stderr }, { code: 0, stderr: "" });
  return stdout;
}
