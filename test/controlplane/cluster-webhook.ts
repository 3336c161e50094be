/** The shipped webhook of Clusters, before operators that run as processes. */

import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { CLUSTER_ADMISSION_PATH } from "../../src/admission/cluster-handler.ts";
import { type KubeObject, objectsOf } from "./client.ts";

/** As shipped, but for the Service, of which there is none here. Without `caBundle` the operator writes it. */
export async function clusterWebhook(port: number, caBundle?: string): Promise<KubeObject> {
  const [object] = objectsOf(
    await readFile(join(import.meta.dirname, "../../manifests/cluster-admission/webhook.yaml"), "utf8"),
  );
  assert.ok(object);
  const webhooks: readonly KubeObject[] = object["webhooks"];
  for (const { clientConfig } of webhooks) assert.equal(clientConfig.service.path, CLUSTER_ADMISSION_PATH);
  const trust = caBundle === undefined ? {} : { caBundle };
  const clientConfig = { url: `https://127.0.0.1:${port}${CLUSTER_ADMISSION_PATH}`, ...trust };
  return { ...object, webhooks: webhooks.map((webhook) => ({ ...webhook, clientConfig })) };
}
