/** Where the operator records that a request was refused at admission. */

import { readFile } from "node:fs/promises";
import type { RecentResult } from "../../src/api/hook-policy.ts";
import type { AuditRefusal } from "../../src/report/audit-entry.ts";
import type { Ref } from "../controlplane/client.ts";
import type { ControlPlane } from "../controlplane/control-plane.ts";

export async function recentResults(cp: ControlPlane, policy: Ref): Promise<readonly RecentResult[]> {
  return (await cp.get(policy))["status"]?.recent ?? [];
}

/** The Events about an object of that name. */
export async function refusalEvents(
  cp: ControlPlane,
  namespace: string,
  name: string,
): Promise<readonly { note: string }[]> {
  const path = `/apis/events.k8s.io/v1/namespaces/${namespace}/events?fieldSelector=reason=Refused`;
  const { items } = await cp.request<{ items: { note: string; regarding: { name: string } }[] }>("GET", path);
  return items.filter(({ regarding }) => regarding.name === name);
}

/** The lines in the audit logs of the replicas. */
export async function refusalLines(files: readonly string[]): Promise<AuditRefusal[]> {
  const texts = await Promise.all(files.map(async (file) => await readFile(file, "utf8")));
  const lines = texts.flatMap((text) => text.split("\n").filter((line) => line !== ""));
  return lines.map((line): AuditRefusal => JSON.parse(line)).filter(({ kind }) => kind === "Refusal");
}
