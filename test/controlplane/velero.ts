/** Velero's Backups, and what its controller does with them. */

import type { KubeObject, Ref } from "./client.ts";
import type { ControlPlane } from "./control-plane.ts";
import { definition } from "./stand-in.ts";

export const BACKUPS = { apiVersion: "velero.io/v1", kind: "Backup", namespace: "velero" };

export async function defineBackups(cp: ControlPlane): Promise<void> {
  await cp.apply([
    definition("velero.io", "v1", "Backup"),
    { apiVersion: "v1", kind: "Namespace", metadata: { name: BACKUPS.namespace } },
  ]);
}

/** The oldest first. */
export async function backupsOf(cp: ControlPlane): Promise<readonly KubeObject[]> {
  const time = ({ metadata }: KubeObject): string => `${metadata.creationTimestamp}`;
  return (await cp.list(BACKUPS)).toSorted((a, b) => (time(a) < time(b) ? -1 : 1));
}

/** Waits for the one that Velero has not seen yet, and begins it. */
export async function openBackup(cp: ControlPlane, prefix: string): Promise<Ref> {
  const found = await cp.waitFor(`a Backup ${prefix} to begin`, async () =>
    (await cp.list(BACKUPS)).find(
      ({ metadata: { name }, status }) => name.startsWith(prefix) && status === undefined,
    ),
  );
  const ref = { ...BACKUPS, name: found.metadata.name };
  for (const phase of ["New", "InProgress"]) await cp.patch(ref, { status: { phase } });
  return ref;
}

export async function endBackup(
  cp: ControlPlane,
  backup: Ref,
  phase: "Completed" | "PartiallyFailed" | "Failed",
): Promise<void> {
  await cp.patch(backup, { status: { phase } });
}
