import type { KubeObject } from "../../test/controlplane/client.ts";
import { COMMON_BYTES, requestAbout } from "../speed/bodies.ts";

/** What Cluster API asks about a Cluster of the common size. */
export function bodyAbout(cluster: KubeObject): Buffer {
  return Buffer.from(requestAbout(cluster, COMMON_BYTES));
}
