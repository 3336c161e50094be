/** Who may scrape the operator, as docs/metrics.md has it, and who may not. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { type Lab, startLab } from "../operator-lab.ts";
import { objectsOf } from "../../controlplane/client.ts";
import type { ControlPlane } from "../../controlplane/control-plane.ts";
import { createAccountWith } from "../../controlplane/rights.ts";

export const ROOT = join(import.meta.dirname, "../../..");

export async function readMetricsPage(): Promise<string> {
  return await readFile(join(ROOT, "docs/metrics.md"), "utf8");
}

export const SECURE = { "metrics-secure": "true" };
export const READER = "prometheus";
export const STRANGER = "stranger";

/** ServiceAccounts of the namespace monitoring; the role is bound as docs/metrics.md says. */
async function createAccounts(cp: ControlPlane): Promise<void> {
  for (const name of [READER, STRANGER]) await createAccountWith(cp, "monitoring", name);
  const bindings = matchesIn(await readMetricsPage(), /^```yaml\n(apiVersion: rbac.*?)^```$/gms);
  assert.equal(bindings.length, 1);
  await cp.apply(objectsOf(bindings.join()));
}

/** A lab with these accounts. */
export async function startMonitored(): Promise<Lab> {
  const lab = await startLab();
  await createAccounts(lab.cp);
  return lab;
}

export async function tokenOf(cp: ControlPlane, account: string): Promise<string> {
  return await cp.tokenFor("monitoring", account);
}

/** What the group of the pattern matches. */
export function matchesIn(text: string, pattern: RegExp): string[] {
  return [...text.matchAll(pattern)].map(([, match = ""]) => match);
}
