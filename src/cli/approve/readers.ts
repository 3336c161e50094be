/** Everything that reads marks of Clusters and Namespaces, as far as the user may know. */

import { unless } from "../../lib/thrown.ts";
import { extensionConfigs } from "../../kube/extension-configs.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { isForbidden, unlessNotFound } from "../../kube/kube-error.ts";
import { markReaders } from "../../policy/mark-readers.ts";
import type { MarkReaders } from "../../policy/settable.ts";
import { asReader } from "../fleet/fleet.ts";
import type { RawObject } from "../fleet/kinds.ts";
import type { ClusterReading } from "../fleet/live-cluster.ts";
import { listTyped } from "../fleet/live-objects.ts";

export async function readersFor(
  client: KubeClient,
  { fleet: { platform }, isPlatformWhole }: ClusterReading,
): Promise<MarkReaders> {
  const registrations = await unless(isForbidden, listRegistrations(client));
  const readers = [...platform, ...(registrations ?? []).map(asReader)];
  return markReaders(readers, isPlatformWhole && registrations !== undefined);
}

/** None if the API server does not serve the kind. */
async function listRegistrations(client: KubeClient): Promise<readonly RawObject[]> {
  const list = async (): Promise<readonly RawObject[]> =>
    await listTyped(client, await extensionConfigs(client));
  return (await unlessNotFound(list())) ?? [];
}
