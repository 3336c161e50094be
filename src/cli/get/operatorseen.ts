/** When the operator last showed that it runs. */

import { fieldsOf } from "../../api/fields.ts";
import type { KubeClient } from "../../kube/kubeclient.ts";
import { KubeError } from "../../kube/kubeerror.ts";
import { LEADER_LEASE, LEASES } from "../../kube/resources.ts";

/** By the Lease of its leader; `undefined`: there is none, or the user may not read it, as most may not. */
export async function operatorSeen(client: KubeClient): Promise<Date | undefined> {
  try {
    const { items } = await client.list(LEASES, { name: LEADER_LEASE });
    const times = items.map((lease) => Date.parse(String(fieldsOf(lease["spec"])["renewTime"])));
    const latest = Math.max(...times.filter((time) => !Number.isNaN(time)));
    return Number.isFinite(latest) ? new Date(latest) : undefined;
  } catch (error) {
    if (error instanceof KubeError) return undefined;
    throw error;
  }
}
