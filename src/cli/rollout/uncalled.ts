/** Warns of rollouts that hold nothing, because Cluster API does not call their hook. */

import type { HookRollout } from "../../api/hook-policy.ts";
import type { KubeClient } from "../../kube/kube-client.ts";
import { extensionConfigs } from "../../kube/extension-configs.ts";
import { isNotFound, KubeError } from "../../kube/kube-error.ts";
import { FLAGS } from "../../operator/options.ts";
import { isCalled, isOurs, type Registration, viewRegistration } from "../../registration/registration.ts";
import { BEGINS } from "../../operations/beginnings.ts";
import { listTyped } from "../fleet/live-objects.ts";
import { stderr } from "../terminal/output.ts";
import { adviceText, type CommandWords, SEE_DOCTOR } from "../terminal/printed-command.ts";

export async function warnIfUncalled(
  client: KubeClient,
  rollouts: readonly HookRollout[],
  words: CommandWords,
): Promise<void> {
  const ours = await registered(client);
  if (ours === undefined) return;
  for (const { metadata, spec } of rollouts) {
    const hook = BEGINS[spec.operation];
    if (!isCalled(hook, ours))
      stderr.line(
        `warning: Cluster API does not call ${hook}, so HookRollout ${metadata.name} holds nothing; ${adviceText(SEE_DOCTOR, words)}`,
      );
  }
}

/** `undefined`: not known, because most users may not read it. */
async function registered(client: KubeClient): Promise<readonly Registration[] | undefined> {
  const serviceName = FLAGS["webhook-service-name"].default ?? "";
  try {
    const all = await listTyped(client, await extensionConfigs(client));
    return all.map(viewRegistration).filter((each) => isOurs(each, serviceName));
  } catch (error) {
    if (isNotFound(error)) return [];
    if (error instanceof KubeError) return undefined;
    throw error;
  }
}
