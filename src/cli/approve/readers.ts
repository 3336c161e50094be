/** Everything that reads marks of Clusters and Namespaces, as far as the user may know. */

import { unless } from "../../lib/thrown.ts";
import { extensionConfigs } from "../../kube/extension-configs.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { isForbidden, unlessNotFound } from "../../kube/kube-error.ts";
import { markReaders } from "../../policy/mark-readers.ts";
import type { MarkReaders } from "../../policy/mark.ts";
import { asReader } from "../fleet/kinds.ts";
import type { ClusterReading } from "../fleet/live-cluster.ts";
import { listTyped } from "../fleet/live-objects.ts";

export async function readersFor(
  client: KubeClient,
  { fleet: { platform }, isPlatformWhole }: ClusterReading,
): Promise<MarkReaders> {
  const listed = extensionConfigs(client).then(async (resource) => await listTyped(client, resource));
  // None if the API server does not serve the kind.
  const registrations = await unless(
    isForbidden,
    unlessNotFound(listed).then((found) => found ?? []),
  );
  const readers = [...platform, ...(registrations ?? []).map(asReader)];
  return markReaders(readers, isPlatformWhole && registrations !== undefined);
}
