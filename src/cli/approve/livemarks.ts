/** Sets the values that gates wait for. */

import { FIELDS, type Mark } from "./approval.ts";
import type { ObjectMeta } from "../../api/meta.ts";
import type { KubeClient } from "../../kube/kubeclient.ts";
import { isConflict, isNotFound } from "../../kube/kubeerror.ts";
import { NAMESPACES } from "../../kube/resources.ts";
import { clusterResource } from "../fleet/liveobjects.ts";

/** Patches this object as it was read; false: the object has changed, and nothing was set. */
export async function setMarks(
  client: KubeClient,
  on: Mark["on"],
  { namespace, name, uid, resourceVersion }: ObjectMeta,
  marks: readonly Mark[],
): Promise<boolean> {
  const resource = on === "Namespace" ? NAMESPACES : await clusterResource(client);
  const metadata: Record<string, unknown> = { uid, resourceVersion };
  for (const [field, plural] of Object.entries(FIELDS)) {
    const values = marks.filter((mark) => mark.field === field).map(({ key, value }) => [key, value]);
    if (values.length > 0) metadata[plural] = Object.fromEntries(values);
  }
  try {
    await client.mergePatch(resource, { name, ...(namespace !== undefined && { namespace }) }, { metadata });
    return true;
  } catch (error) {
    if (isConflict(error) || isNotFound(error)) return false;
    throw error;
  }
}
