/**
 * Tells that the API server serves older CRDs than the operator knows. It drops the fields that they lack, so that a policy holds
 * less than its author has written, and the operator cannot see what was dropped.
 */

import { APPLY_CRDS, compareFields } from "../api/crd-fields.ts";
import { GROUP, CRD_VERSION } from "../api/hook-policy.ts";
import type { KubeClient } from "../kube/kube-client.ts";
import { isNotFound } from "../kube/kube-error.ts";
import { HOOK_TASKS, OVERRIDES, POLICY_RESOURCES, ROLLOUTS } from "../kube/resources.ts";
import { fieldsOf } from "../lib/fields.ts";
import { firstNames } from "../lib/first-names.ts";
import type { Logger } from "../lib/logger.ts";
import { every } from "../lib/signals.ts";
import { messageOf } from "../lib/thrown.ts";

const KINDS = [...Object.values(POLICY_RESOURCES), OVERRIDES, ROLLOUTS, HOOK_TASKS].map(({ kind }) => kind);
/** Which every client may read. */
const PATH = `/openapi/v3/apis/${GROUP}/${CRD_VERSION}`;
const INTERVAL_MS = 300_000;
const REMEDY = `apply the CRDs of the operator's version: ${APPLY_CRDS}`;

/** Logs what has changed, now and every five minutes: the CRDs may be applied before or after the operator. Never rejects. */
export async function tellOlderCrds(
  client: Pick<KubeClient, "getPath">,
  log: Logger,
  signal: AbortSignal,
): Promise<void> {
  let told = "";
  await every(INTERVAL_MS, signal, async () => {
    try {
      const lacking = older(await client.getPath(PATH));
      if (lacking === told) return;
      told = lacking;
      if (lacking === "") log.info("The CRDs have all fields that this operator knows");
      else log.error("The CRDs are older than this operator", { lacking, remedy: REMEDY });
    } catch (error) {
      // Without any CRD of the group, the kinds cannot be read, and the informers report that.
      if (!isNotFound(error)) log.info("Failed to read the fields of the CRDs", { error: messageOf(error) });
    }
  });
}

/** Empty: no kind lacks anything. */
function older(document: unknown): string {
  const schemas = fieldsOf(fieldsOf(fieldsOf(document)["components"])["schemas"]);
  const named = (kind: string): unknown =>
    Object.entries(schemas).find(([name]) => name.endsWith(`.${kind}`))?.[1];
  return KINDS.flatMap((kind) => {
    const schema = named(kind);
    if (schema === undefined) return [`there is no ${kind}`];
    // The metadata of every kind stands elsewhere in the document.
    const missing = compareFields(kind, schema).missing.filter((path) => !path.startsWith("metadata"));
    return missing.length === 0 ? [] : [`${kind} lacks ${firstNames(missing)}`];
  }).join("; ");
}
