/** Everything that reads marks of Clusters and Namespaces, as far as the user may know. */

import { unless } from "../../api/thrown.ts";
import { extensionConfigs } from "../../kube/extensionconfigs.ts";
import type { KubeClient } from "../../kube/kubeclient.ts";
import { isForbidden, unlessNotFound } from "../../kube/kubeerror.ts";
import { markReaders } from "../../policy/markreaders.ts";
import type { MarkReaders } from "../../policy/settable.ts";
import { asReader } from "../fleet/fleet.ts";
import type { RawObject } from "../fleet/kinds.ts";
import type { Looked } from "../fleet/livecluster.ts";
import { listTyped } from "../fleet/liveobjects.ts";

export async function readersFor(
  client: KubeClient,
  { fleet: { platform }, isPlatformWhole }: Looked,
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
